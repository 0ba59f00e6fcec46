/// \file The thread that runs a rank's operations in their order, and the short way past it.
#pragma once
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "baleen/failure.hpp"
#include "baleen/started.hpp"
#include "group.hpp"

namespace baleen::shm {

using namespace sdk;

/// A started slot, and how far it has come.
struct Operation : StartedEvents {
  Slot* slot = nullptr;
  const Program* program = nullptr;  // once begun
  std::size_t step = 0;
  bool arrived = false;  // at the meeting that ends the step
  bool begun = false;
  std::uint64_t ticket = 0;      // of a channel's end
  std::int64_t waits_since = 0;  // when its caller gave up waiting for the others, in nanoseconds
};

/// `start` comes from one thread at a time.
class Worker {
 public:
  /// `spins`: there is a core for each rank, so a waiter may keep its own busy for a moment.
  Worker(RankBoard& board, FirstFailure& failure, bool spins);
  /// Fails what is unfinished.
  ~Worker();

  /// `operation` is used up.
  Status start(Operation& operation);
  /// Returns when nothing is unfinished; what is, fails first.
  void settle();
  /// Everything unfinished fails. [any thread]
  void fail(Error error);

 private:
  void work();
  void wake();
  bool run(Operation& operation);
  void drain();
  bool run_now(Operation& operation);
  void finish(const Operation& operation) { unfinished_.finish(operation, static_cast<bool>(failure_)); }

  static void begin(Operation& operation);
  template <class Await>
  bool advance(Operation& operation, const Await& await);
  bool all_here(const Operation& operation);
  bool poll_parked();
  template <class Ready>
  bool wait(const Ready& ready, bool spin, const Operation& operation);

  RankBoard& board_;
  baleen_event_t idle_{};  // rung by this rank alone
  FirstFailure& failure_;
  const bool spins_;

  std::array<Operation, BALEEN_MAX_OUTSTANDING> queue_;
  std::atomic<std::uint64_t> head_{0}, tail_{0};
  // Queued, run or parked. While it is 0 the thread touches nothing, so `start` may run an operation itself.
  Unfinished unfinished_;
  std::atomic<std::int64_t> patience_;  // of `start` with peers that are not there yet, in nanoseconds
  std::vector<Operation> parked_;       // ends of channels that wait for their peers
  std::atomic<bool> leaving_{false};
  std::thread thread_;
};

}  // namespace baleen::shm
