/// \file The collectives that a rank has begun and that have not ended.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "baleen/event.h"

namespace baleen {

/// Tells which collective a rank stands in, from the events around each. Members may be called from any thread.
class CollectivesUnderWay {
 public:
  /// One that begins once `after` (null: at once) has reached `after_value`, and has ended once `done` has reached
  /// `done_value`. What it points at lives until it has ended, or until `forget`.
  struct Begun {
    const std::string* name = nullptr;
    const baleen_event_t* after = nullptr;
    std::uint64_t after_value = 0;
    const baleen_event_t* done = nullptr;
    std::uint64_t done_value = 0;
  };

  void begin(const Begun& begun);
  /// Nothing that has begun so far is looked at any more.
  void forget();
  /// The name of the oldest that could run and has not ended; "" where there is none.
  std::string running();

 private:
  void drop_ended();

  std::mutex mutex_;
  std::vector<Begun> begun_;  // in the order of their begins; also some that have ended
  std::size_t most_ = 64;     // as many are kept before those that have ended are dropped
};

}  // namespace baleen
