/// \file Run time: hands the steps of started collectives to their transports, and lets each begin when it may.
#pragma once
#include <array>
#include <functional>
#include <mutex>
#include <thread>

#include "baleen/failure.hpp"
#include "baleen/started.hpp"
#include "slot.hpp"

namespace baleen::hierarchy {

using namespace sdk;

/// `start` gives all steps to the transports at once, so that their order is the same on every rank; each waits there
/// for its gate, which this thread opens. Collectives of several steps run one after the other. Direct ones pass by
/// without it, and short ones whose peers are near may be over within `start`.
class Conductor {
 public:
  /// `tell` gives an error of a transport its words.
  using Tell = std::function<Error(bool inside, Error error)>;

  Conductor(OpenTransport& inside, OpenTransport& between, Tell tell);
  /// What is unfinished fails.
  ~Conductor();
  Conductor(const Conductor&) = delete;

  /// [one thread]
  Status start(Slot& slot, baleen_event_t* after, std::uint64_t after_value, baleen_event_t* done,
               std::uint64_t done_value);
  /// Waits until the transports have all that was started: from then on this thread makes no calls of them that others
  /// may not make at the same time. [the thread of `start`]
  void await_handed();
  /// What is unfinished fails, and nothing touches its events and memory any more. [the thread of `start`]
  void settle();
  /// The first failure of either transport ends both. [any thread]
  void fail(Error error);
  /// OK, or the first failure. [any thread]
  Status check();
  /// What a call of a transport said, or the first failure where that is why. [any thread]
  Status judged(Status said);

 private:
  struct Operation {
    Slot* slot = nullptr;
    StartedEvents events;
    std::uint64_t run = 0;   // of its slot
    std::size_t handed = 0;  // steps
  };

  void hand_over();
  Status hand(Operation& operation, bool alone);
  static Status hand_direct(Operation& operation);
  static bool is_over(const SubSlot& step, std::uint64_t run);
  static bool is_over(const Operation& operation);
  void work();
  bool take(Operation& operation);
  bool perform(const Operation& operation);
  void finish(const Operation& operation, bool well);
  void forget(const Operation& operation);
  bool await(baleen_event_t& event, std::uint64_t value, bool of_step);
  void look();
  void ring() { event_signal(bell_, event_value(bell_) + 1); }

  OpenTransport& inside_;
  OpenTransport& between_;
  const Tell tell_;
  FirstFailure failure_;

  std::mutex mutex_;
  std::array<Operation, BALEEN_MAX_OUTSTANDING> queue_;
  std::uint64_t head_ = 0, handed_ = 0, tail_ = 0;  // operations over, with the transports, started
  Unfinished unfinished_;
  std::array<std::size_t, 2> ahead_{};  // steps that a transport has: between, inside
  bool leaving_ = false;

  baleen_event_t bell_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::thread thread_;
};

}  // namespace baleen::hierarchy
