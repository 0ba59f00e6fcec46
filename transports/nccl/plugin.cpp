/// \file The descriptor of the plugin `nccl`.
#include "transport.hpp"

BALEEN_DESCRIPTOR(
    "transport", "nccl", "1.0.0", "Apache-2.0", "NVIDIA's NCCL: GPUs of one host or many, one rank on each", -1, "",
    BALEEN_OPTION("library", BALEEN_OPTION_STRING, 0, 1, 0, "libnccl.so.2", "", "",
                  "NCCL, by a name that the system finds or by a path"),
    BALEEN_OPTION("driver", BALEEN_OPTION_STRING, 0, 1, 0, "libcuda.so.1", "", "",
                  "the CUDA driver, by a name that the system finds or by a path"),
    BALEEN_OPTION("interface", BALEEN_OPTION_STRING, 0, 1, 0, "", "", "",
                  "network interface of sockets, such as eth0; empty: the one that reaches the first host"),
    BALEEN_OPTION("algorithm", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|ring|tree|nvls", "",
                  "of all_reduce (ring: of all operations); with `protocol` it fixes the order of sums"),
    BALEEN_OPTION("protocol", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|simple|ll|ll128", "",
                  "how data moves: simple for bandwidth, ll for latency, ll128 between"),
    BALEEN_OPTION("min_channels", BALEEN_OPTION_INT, 0, 0, 64, "0", "", "",
                  "thread blocks that a collective takes at least; 0: NCCL chooses"),
    BALEEN_OPTION("max_channels", BALEEN_OPTION_INT, 0, 0, 64, "0", "", "",
                  "thread blocks that a collective takes at most; 0: NCCL chooses"),
    BALEEN_OPTION("timeout", BALEEN_OPTION_FLOAT, 0, 1, 86400, "300", "", "",
                  "seconds that ranks may take to come, and NCCL to make a communicator or to enqueue"),
    BALEEN_OPTION("scratch_mb", BALEEN_OPTION_INT, 0, 1, 65536, "64", "", "",
                  "device memory for sums in a fixed order, which go in pieces"),
    BALEEN_OPTION("register", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "",
                  "let NCCL work in the device's arenas without copies of its own, where it can"),
    BALEEN_OPTION("memory", BALEEN_OPTION_STRING, 0, 1, 0, "auto", "auto|nccl|device", "",
                  "whose memory collectives work in: NCCL's own or the device's; auto: NCCL's where it has some"),
    BALEEN_OPTION("windows", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
                  "NCCL's own memory becomes windows that all members share, where their buffers lie alike: no copies; "
                  "NCCL 2.27 or later"),
    BALEEN_OPTION("copy_engine", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
                  "all_gather and all_to_all by the device's copy engines where they can, which leaves its "
                  "multiprocessors to kernels; NCCL 2.28 or later, with `windows`"),
    BALEEN_OPTION(
        "graphs", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
        "collectives become part of the CUDA graphs in which the device keeps a program's launches; tested on "
        "a double of NCCL only, not yet on a GPU"),
    BALEEN_OPTION("share_gpu", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
                  "let ranks share a GPU, to try a job of many ranks: NCCL takes each for a host of its "
                  "own, and data goes through sockets"),
    BALEEN_OPTION("debug", BALEEN_OPTION_STRING, 0, 1, 0, "off", "off|version|warn|info|trace", "",
                  "how much NCCL itself prints"));

BALEEN_TRANSPORT(baleen::nccl::NcclTransport);
