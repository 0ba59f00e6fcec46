/// \file What UCX could use on this machine, for messages.
#pragma once
#include <string>

namespace baleen::ucx {

/// "tcp (eth0, lo), posix, sysv, cma".
std::string available_devices();

}  // namespace baleen::ucx
