/// \file When a wait that goes on is worth a word. Pure data.
#pragma once
#include <algorithm>

#include "common/timeouts.hpp"

namespace baleen::launchers {

/// Of one wait: the first word, and then each time twice as late; those that were missed are not made up for.
class Reminders {
 public:
  explicit Reminders(Clock::duration first) : next_(first) {}

  /// Whether one is due that has waited so long; not before `least`, which may change meanwhile.
  bool are_due(Clock::duration waited, Clock::duration least = {}) {
    if (waited < std::max(next_, least)) return false;
    while (next_ <= waited) next_ *= 2;
    return true;
  }

 private:
  Clock::duration next_;
};

/// How long waits are in a job as a rule. One becomes usual by and by: one that is far longer than those before counts
/// only when it has come again.
class UsualWait {
 public:
  void saw(Clock::duration waited) { longest_ = std::max(longest_, std::min(waited, 2 * longest_ + kSoon)); }
  /// So long one may wait without a word.
  Clock::duration patience() const { return 2 * longest_; }

 private:
  static constexpr std::chrono::milliseconds kSoon{500};
  Clock::duration longest_{};
};

}  // namespace baleen::launchers
