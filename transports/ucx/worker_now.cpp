/// \file The short way: an operation for which everyone is there needs no other thread.
#include <sched.h>

#include "log_tap.hpp"
#include "worker.hpp"

namespace baleen::ucx {

// True where the operation is done, or in the thread's hands. What hears nothing for longer than a caller's patience
// goes there as far as it has come.
bool Worker::run_now(const Operation& operation) {
  if (!operation.slot->brief || !operation.may_begin()) return false;
  const std::unique_lock turn(turn_);  // the thread, which has nothing unfinished, is about to sleep
  if (current_.slot || !parked_.empty() || !device_.enter()) return false;
  const LogTap tap(host_, true);
  Run& run = operation.slot->run;
  calls_.fetch_add(1, std::memory_order_relaxed);
  run.begin();
  int looks = spins_ ? 200 : 0;
  std::int64_t end = 0;
  while (true) {
    bool did = step(run);
    if (failure_) break;
    if (run.done()) {
      run.end();
      calls_.fetch_add(1, std::memory_order_relaxed);
      operation.raise();
      return true;
    }
    if (wire_.progress()) did = true;
    if (did) {
      end = 0;
      continue;
    }
    if (looks > 0) {
      --looks;
      event_pause();
      continue;
    }
    if (end == 0) end = nanoseconds() + patience_;
    if (nanoseconds() > end) break;
    sched_yield();
  }
  calls_.fetch_add(1, std::memory_order_relaxed);
  hand_over(operation);
  return true;
}

void Worker::hand_over(const Operation& operation) {
  unfinished_.add();
  handed_over_ = nanoseconds();
  if (operation.slot->pair)
    parked_.push_back({operation, true});
  else
    current_ = operation;
  ring();
}

}  // namespace baleen::ucx
