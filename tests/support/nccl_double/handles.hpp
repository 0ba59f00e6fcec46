/// \file What the functions of the double share: valid handles, and refusals.
#pragma once
#include <memory>
#include <string>

#include "communicator.hpp"

#define DOUBLE_EXPORT extern "C" __attribute__((visibility("default")))

namespace baleen::nccl_double {

/// Null where there is no such communicator.
std::shared_ptr<Communicator> find(nccl::Comm comm);
/// Keeps why for ncclGetLastError; the group of this thread, if any, is refused too.
Code refuse(Code code, const std::string& why);
/// The name of the device whose context is current on this thread, or "".
std::string current_device();

/// A communicator has ended, and with it what was registered there. How many windows it still had.
std::size_t forget_memory_of(nccl::Comm comm);

}  // namespace baleen::nccl_double
