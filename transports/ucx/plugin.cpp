/// \file What the plugin is, and its options.
#include "transport.hpp"

BALEEN_DESCRIPTOR(
    "transport", "ucx", "1.0.0", "Apache-2.0", "UCX: RDMA, TCP, and shared memory within a host", 0, "",
    BALEEN_OPTION("tls", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "UCX's transports that may be used, such as tcp, sysv, cma, rc; empty: UCX chooses, but not posix"),
    BALEEN_OPTION(
        "devices", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
        "network devices, such as eth0 or mlx5_0:1; empty: RDMA, and the interface that reaches the first host"),
    BALEEN_OPTION("segment", BALEEN_OPTION_INT, 0, 1024, 1 << 30, "524288", "", "",
                  "bytes that are reduced or passed on at a time, while others are under way"),
    BALEEN_OPTION("algorithm", BALEEN_OPTION_STRING, BALEEN_OPTION_MANY, 1, 0, "", "", "",
                  "choices such as all_reduce=ring; used where they fit the group and the order of sums"),
    BALEEN_OPTION("integrity", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
                  "send a checksum (XXH3) with every message and compare it"),
    BALEEN_OPTION("encrypt", BALEEN_OPTION_BOOL, 0, 1, 0, "false", "", "",
                  "carry all messages over sockets under TLS 1.3 instead of UCX, with a key of the job"),
    BALEEN_OPTION("direct", BALEEN_OPTION_BOOL, 0, 1, 0, "true", "", "",
                  "ranks of one host read long messages where they lie, in memory that UCX shares"),
    BALEEN_OPTION("patience", BALEEN_OPTION_FLOAT, 0, 1, 3600, "3.25", "", "",
                  "seconds for which a peer may acknowledge nothing before its connection is dead"));

BALEEN_TRANSPORT(baleen::ucx::UcxTransport);
