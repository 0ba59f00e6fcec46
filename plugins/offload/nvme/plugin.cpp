/// \file What the plugin is, and its options.
#include "store.hpp"

BALEEN_DESCRIPTOR(
    "offload", "nvme", "1.0.0", "Apache-2.0", "swap files on disks, by io_uring and without page cache", -1, "",
    BALEEN_OPTION("path", BALEEN_OPTION_STRING, BALEEN_OPTION_REQUIRED | BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "folders for swap files; several: striped over them, one on each disk"),
    BALEEN_OPTION("stripe", BALEEN_OPTION_INT, 0, 4096, 1 << 30, "1048576", "", "",
                  "bytes that lie in one folder before the next one follows, a multiple of 4096"),
    BALEEN_OPTION("request", BALEEN_OPTION_INT, 0, 4096, 1 << 26, "1048576", "", "",
                  "bytes of one read or write at most, a multiple of 4096"),
    BALEEN_OPTION("depth", BALEEN_OPTION_INT, 0, 1, 1024, "16", "", "",
                  "reads and writes under way at a time (queue depth); each has a buffer of up to 256 KiB"),
    BALEEN_OPTION("timeout", BALEEN_OPTION_FLOAT, 0, 0.1, 86400, "30", "", "",
                  "seconds that one read or write may take before its operation fails"),
    BALEEN_OPTION("engine", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|io_uring|threads", "",
                  "auto: io_uring, or threads where the kernel forbids it"),
    BALEEN_OPTION("direct", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "",
                  "O_DIRECT, past the page cache, where the file system has it"));

BALEEN_OFFLOAD(baleen::nvme::NvmeStore);
