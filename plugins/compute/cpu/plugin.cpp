/// \file The compute plugin `cpu`: its descriptor and its start.
#include "baleen/compute_table.hpp"
#include "baleen/launcher.h"
#include "device.hpp"

BALEEN_DESCRIPTOR("compute", "cpu", "0.1.0", "Apache-2.0",
                  "x86-64 cores: kernels for AVX-512, AVX2 and SSE2, a pool of threads", 10, "",
                  BALEEN_OPTION("threads", BALEEN_OPTION_INT, BALEEN_OPTION_THREADS, 0, 4096, "0", "", "",
                                "threads that compute; 0: as many as the process may use cores"),
                  BALEEN_OPTION("pin", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "",
                                "keep each worker thread on a core of its own"),
                  BALEEN_OPTION("memory", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                                "MiB that may be planned for; 0: nine tenths of what is available"));

BALEEN_COMPUTE(baleen::cpu::Device);
