/// \file What the plugin is, and its options.
#include "store.hpp"

BALEEN_DESCRIPTOR("offload", "host", "1.0.0", "Apache-2.0", "the host's memory, outside the device's budget", 0, "",
                  BALEEN_OPTION("threads", BALEEN_OPTION_INT, 0, 0, 64, "0", "", "",
                                "threads that copy; 0: one for each core, at most 4"),
                  BALEEN_OPTION("huge_pages", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "",
                                "ask the kernel for pages of 2 MiB"));

BALEEN_OFFLOAD(baleen::host_memory::HostStore);
