/// \file What UCX could use on this machine, for messages.
#pragma once
#include <string>

namespace baleen::ucx {

/// "tcp (eth0, lo), posix, sysv, cma".
std::string available_devices();

/// Whether some transport of a list as users write it (empty: any that this machine has) writes into remote memory
/// without copies.
bool may_use_rdma(const std::string& tls);

/// UCX's list of network devices where its sockets shall be at this address only: the interface that has it, and all
/// devices that are not sockets'. Empty where no interface has it.
std::string devices_at(const std::string& address);

}  // namespace baleen::ucx
