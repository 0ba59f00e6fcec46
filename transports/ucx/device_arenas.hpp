/// \file Memory of a device that messages go from and to: UCX moves its bytes, the processor must not touch them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

#include "baleen/collective.hpp"
#include "wire.hpp"

namespace baleen::ucx {

/// [plan time]
class DeviceArenas {
 public:
  explicit DeviceArenas(Wire& wire) : wire_(wire) {}
  ~DeviceArenas();
  DeviceArenas(const DeviceArenas&) = delete;

  /// Whether it is a device's memory; the host's is left alone.
  Result<bool> add(void* base, std::uint64_t bytes);
  void remove(void* base);

  bool holds(const void* data) const;
  /// Whether some side of a collective lies there.
  bool holds_some_of(const Collective& collective) const;

 private:
  Wire& wire_;
  std::map<const std::byte*, Wire::Memory> known_;  // by their bases
};

}  // namespace baleen::ucx
