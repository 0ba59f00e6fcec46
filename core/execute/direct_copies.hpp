/// \file Copies between a device with memory of its own and slots of an offload store that lie in the host's memory,
/// pinned.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "baleen/offload.h"
#include "core/execute/device.hpp"

namespace baleen {

/// One stream for what leaves the device and one for what comes back, beside the program's: the two ways of the bus and
/// the kernels run at the same time. Enqueues only; no thread of the host takes part where the device has native
/// events. The device outlives this. [one thread]
class DirectCopies {
 public:
  /// `slots`: where each slot of the store lies; it stays there as long as this.
  static Result<std::unique_ptr<DirectCopies>> create(const Device& device, const std::vector<std::byte*>& slots);
  ~DirectCopies();
  DirectCopies(const DirectCopies&) = delete;
  DirectCopies& operator=(const DirectCopies&) = delete;

  /// `bytes` of a slot from `offset` on: put from, or got into, `memory` of the device. It begins when `after` has
  /// reached `after_value` and what was begun on the slot in the other direction is over, and raises `done` to
  /// `done_value`. Both events live until they are over, `done` as long as the slot is used.
  struct Copy {
    bool is_put = false;
    std::uint32_t slot = 0;
    std::uint64_t offset = 0, bytes = 0;
    void* memory = nullptr;
    baleen_event_t* after = nullptr;
    std::uint64_t after_value = 0;
    baleen_event_t* done = nullptr;
    std::uint64_t done_value = 0;
  };
  Status start(const Copy& copy);

  /// How fast both ways are, one alone, measured for about `seconds`: between `bytes` of `memory` of the device and
  /// slot 0, which has as many. Nothing is under way.
  Result<baleen_offload_speed_t> measure(void* memory, std::uint64_t bytes, double seconds);

 private:
  struct Last {
    baleen_event_t* done = nullptr;
    std::uint64_t value = 0;
  };
  struct Slot {
    std::byte* base = nullptr;
    Last put, got;
  };
  explicit DirectCopies(const Device& device) : device_(device) {}
  Status wait(void* stream, const Last& last);
  Result<double> seconds_of(bool is_put, void* memory, std::uint64_t bytes, double at_least);

  const Device& device_;
  std::vector<Slot> slots_;
  void* out_ = nullptr;  ///< the stream of puts
  void* in_ = nullptr;   ///< of gets
};

}  // namespace baleen
