/// \file What a transport's queue keeps of each `start`: the events, and the count of those that are not over.
#pragma once
#include <atomic>
#include <string>
#include <thread>

#include "baleen/event.hpp"
#include "baleen/result.hpp"
#include "baleen/transport.h"

namespace baleen::sdk {

/// What an operation begins after, and what it raises when it is over; either may be null.
struct StartedEvents {
  baleen_event_t* after = nullptr;
  std::uint64_t after_value = 0;
  baleen_event_t* done = nullptr;
  std::uint64_t done_value = 0;

  bool may_begin() const { return !after || event_value(*after) >= after_value; }
  void raise(bool failed = false) const {
    if (done) event_signal(*done, failed ? BALEEN_EVENT_FAILED : done_value);
  }
};

/// The operations of one rank that were started and are not over. Added by the thread that starts, finished by any.
class Unfinished {
 public:
  std::uint64_t count() const { return count_.load(); }
  /// An error where no more may be started.
  Status check_room() const {
    if (count() < BALEEN_MAX_OUTSTANDING) return {};
    return internal(std::to_string(count()) + " operations are unfinished; wait for some before starting more");
  }
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Raises the operation's event. The count falls first, so that who sees the event may start as many again.
  void finish(const StartedEvents& events, bool failed) {
    raising_.fetch_add(1, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_acq_rel);
    events.raise(failed);
    raising_.fetch_sub(1, std::memory_order_release);
  }
  /// Returns when all are over and no event of theirs is touched any more. What they wait for must come, or have
  /// failed.
  void settle() const {
    while (count() != 0 || raising_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  std::atomic<std::uint64_t> count_{0}, raising_{0};
};

}  // namespace baleen::sdk
