/// \file The compute plugin `cuda`: its descriptor and its start.
#include "baleen/compute_table.hpp"
#include "device.hpp"

BALEEN_DESCRIPTOR(
    "compute", "cuda", "0.1.0", "Apache-2.0", "NVIDIA GPUs of compute capability 8.0 and later, by CUDA 13", 5, "",
    BALEEN_OPTION("index", BALEEN_OPTION_INT, 0, -1, 1023, "-1", "", "",
                  "which of the machine's CUDA devices, for all ranks of the host; -1: ranks take them in turn"),
    BALEEN_OPTION("memory", BALEEN_OPTION_INT, 0, 0, 1e9, "0", "", "",
                  "MiB of device memory that may be planned for; 0: as `fraction` says"),
    BALEEN_OPTION(
        "fraction", BALEEN_OPTION_FLOAT, 0, 0, 1, "0", "", "",
        "part of the free device memory that may be planned for; 0: nine tenths, in equal parts for the ranks "
        "that share the device"),
    BALEEN_OPTION("architecture", BALEEN_OPTION_STRING, 0, 0, 0, "here", "here|8.0|8.6|8.7|8.9|9.0|10.0|10.3|12.0", "",
                  "compute capability of the devices; with it and `memory` a plan needs neither device nor driver"),
    BALEEN_OPTION("tf32", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "products of fp32 by tensor cores, with operands rounded to 11 significant bits"),
    BALEEN_OPTION("deterministic", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "",
                  "the same bits in every run, for more memory in attention's gradient; false: parts are added as "
                  "they come, products go the way measured to be the fastest"),
    BALEEN_OPTION("half_logits", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "a head fused with its loss rounds the logits of 16-bit operands to their dtype, as PyTorch's "
                  "autocast does: half the memory and traffic, a less exact loss"),
    BALEEN_OPTION("checked", BALEEN_OPTION_BOOL, 0, 0, 1, "false", "", "",
                  "wait for every launch, so that a failing kernel is named exactly; slow"),
    BALEEN_OPTION("graphs", BALEEN_OPTION_BOOL, 0, 0, 1, "true", "", "",
                  "launches that come again each step are enqueued as one CUDA graph; it changes no number"),
    BALEEN_OPTION("cache", BALEEN_OPTION_STRING, 0, 0, 0, "", "", "",
                  "folder for compiled kernels and what was measured; empty: baleen/cuda in the user's cache folder"),
    BALEEN_OPTION("libraries", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 0, 0, "", "", "",
                  "folders in which libcuda, libcublasLt, libcudnn and libnvrtc are looked for first"));

BALEEN_COMPUTE(baleen::cuda::Device);
