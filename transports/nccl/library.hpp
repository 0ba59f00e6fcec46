/// \file NCCL and NVIDIA's driver, opened at run time: the plugin loads on machines that have neither.
#pragma once
#include <array>
#include <string>

#include "baleen/result.hpp"
#include "nccl.hpp"

namespace baleen::nccl {

/// "2.28.9" of 22809; before 2.9 the number had fewer digits.
std::string version_text(int version);

/// Opens NCCL. Says in one line where there is none, which package has it, or which version was found and which is
/// needed.
Result<Functions> open_nccl(const std::string& path);

/// "ncclAllReduce failed: invalid usage (run with ...)", with what NCCL kept of the communicator's last error.
std::string failure_text(const Functions& nccl, const char* call, Code code, Comm comm);

/// The few functions of the driver that this transport asks itself. Declared by ourselves, as those of NCCL.
struct Driver {
  int (*cuInit)(unsigned) = nullptr;
  int (*cuDeviceGetCount)(int*) = nullptr;
  int (*cuCtxGetDevice)(int*) = nullptr;
  int (*cuDeviceGetUuid_v2)(std::array<char, 16>*, int) = nullptr;
  int (*cuPointerGetAttribute)(void*, int, std::uint64_t) = nullptr;

  /// Whether an address is in a device's memory.
  bool is_device_memory(const void* at) const;
  /// The identity of the device whose context is current on this thread, in hexadecimal digits.
  Result<std::string> current_device() const;
};

/// Opens the driver and looks for a device. Says in one line what is missing, and what to do.
Result<Driver> open_driver(const std::string& path);

}  // namespace baleen::nccl
