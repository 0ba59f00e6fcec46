/// \file What UCX could use on this machine, for messages.
#pragma once
#include <string>

namespace baleen::ucx {

/// "tcp (eth0, lo), posix, sysv, cma".
std::string available_devices();

/// Whether some transport of a list as users write it (empty: any that this machine has) writes into remote memory
/// without copies.
bool may_use_rdma(const std::string& tls);

}  // namespace baleen::ucx
