/// \file Times of a stream, where the host is not to wait for it.
#pragma once
#include <cstdint>
#include <memory>

#include "baleen/stamps.h"
#include "core/execute/device.hpp"

namespace baleen {

/// Stamps of a device (baleen/stamps.h), which outlives them. [enqueues]
class Stamps {
 public:
  /// Null where the device has none, or where the host reaches its memory: then it does what it is told soon.
  static Result<std::unique_ptr<Stamps>> create(const Device& device, std::uint64_t count);
  ~Stamps();
  Stamps(const Stamps&) = delete;
  Stamps& operator=(const Stamps&) = delete;

  Status note(void* stream, std::uint64_t number) const;
  /// Nanoseconds; both have been synchronized with.
  Result<std::int64_t> between(std::uint64_t first, std::uint64_t second) const;

 private:
  Stamps(const baleen_stamps_t& table, const Device& device) : table_(table), device_(device) {}

  baleen_stamps_t table_;
  const Device& device_;
  void* stamps_ = nullptr;
};

}  // namespace baleen
