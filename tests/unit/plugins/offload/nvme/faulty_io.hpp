/// \file A disk with faults, where io_uring or threads would be: a test says what becomes of each request.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "block_io.hpp"

namespace baleen::nvme {

/// What becomes of a request.
struct Fault {
  enum Kind {
    kNone,
    kError,    ///< `value` is the errno; nothing is moved
    kShort,    ///< at most `value` bytes are moved
    kFlipped,  ///< bit number `value` of what is moved is another one
    kLost,     ///< a write that says it was done
    kLate,     ///< right, after `value` milliseconds
    kHangs,    ///< until it is cancelled
    kHangsOn   ///< for ever
  } kind = kNone;
  std::uint64_t value = 0;
};

/// [one thread]
class FaultyIo final : public BlockIo {
 public:
  using Choose = std::function<Fault(const IoRequest&)>;
  explicit FaultyIo(Choose choose) : choose_(std::move(choose)) {}

  void begin(const IoRequest& request) override {
    const Fault fault = choose_(request);
    const bool hangs = fault.kind == Fault::kHangs || fault.kind == Fault::kHangsOn;
    const auto delay = std::chrono::milliseconds(fault.kind == Fault::kLate ? fault.value : 0);
    const std::int64_t result = hangs                         ? 0
                                : fault.kind == Fault::kError ? -static_cast<std::int64_t>(fault.value)
                                                              : move(request, fault);
    pending_.push_back({{request.id, result}, Clock::now() + delay, fault.kind});
  }
  void cancel(std::uint32_t id) override {
    for (Pending& one : pending_)
      if (one.result.id == id && one.kind == Fault::kHangs) one = {{id, -ECANCELED}, Clock::now(), Fault::kNone};
  }
  std::size_t wait(std::span<IoResult> results, double seconds) override {
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    for (std::size_t count = 0;; std::this_thread::sleep_for(std::chrono::microseconds(200))) {
      for (auto one = pending_.begin(); one != pending_.end() && count < results.size();) {
        const bool hangs = one->kind == Fault::kHangs || one->kind == Fault::kHangsOn;
        if (hangs || one->ready > Clock::now()) {
          ++one;
          continue;
        }
        results[count++] = one->result;
        one = pending_.erase(one);
      }
      if (count > 0 || Clock::now() >= end) return count;
    }
  }
  bool drain(double seconds) override {
    IoResult ignored[8];
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    while (!pending_.empty() && Clock::now() < end) (void)wait(ignored, 0.01);
    return pending_.empty();
  }
  const char* name() const override { return "faulty"; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    IoResult result;
    Clock::time_point ready;
    Fault::Kind kind;
  };

  static std::int64_t move(const IoRequest& request, const Fault& fault) {
    const std::uint64_t bytes =
        fault.kind == Fault::kShort ? std::min<std::uint64_t>(fault.value, request.bytes) : request.bytes;
    const auto at = static_cast<off_t>(request.offset);
    std::byte* const flipped = request.memory + fault.value / 8 % request.bytes;
    const auto bit = static_cast<std::byte>(1u << fault.value % 8);
    if (fault.kind == Fault::kLost && request.is_write) return request.bytes;
    if (fault.kind == Fault::kFlipped && request.is_write) {
      std::vector<std::byte> copy(request.memory, request.memory + bytes);
      copy[static_cast<std::size_t>(flipped - request.memory)] ^= bit;
      return ::pwrite(request.file, copy.data(), bytes, at);
    }
    const ssize_t moved = request.is_write ? ::pwrite(request.file, request.memory, bytes, at)
                                           : ::pread(request.file, request.memory, bytes, at);
    if (fault.kind == Fault::kFlipped && moved > flipped - request.memory) *flipped ^= bit;
    return moved < 0 ? -errno : moved;
  }

  Choose choose_;
  std::vector<Pending> pending_;
};

}  // namespace baleen::nvme
