/// \file The pool: tasks are claimed one by one from a counter, so that a late worker finds nothing left to do.
#include "threads.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "baleen/event.hpp"
#include "core_order.hpp"

namespace baleen::cpu {
namespace {

// How often somebody looks again before falling asleep: some tens of microseconds, as long as the gap between two
// kernels of a step is now and then.
constexpr int kSpins = 2000;

}  // namespace

// The padding keeps what different threads write in cache lines of their own.
class Threads::Pool {  // NOLINT(clang-analyzer-optin.performance.Padding)
 public:
  Pool(int workers, const std::vector<int>& cores, const cpu_set_t& allowed, bool pin) {
    // Signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (int thread = 1; thread <= workers; ++thread) {
        workers_.emplace_back([this, thread] { work(thread); });
        place(workers_.back().native_handle(), thread, cores, allowed, pin);
      }
    } catch (...) {  // no more threads, or no memory for one
      leave();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Pool() { leave(); }

  void run(std::int64_t tasks, const void* body, Task call) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    if (busy_.exchange(true, std::memory_order_acquire)) {
      for (std::int64_t task = 0; task < tasks; ++task) call(body, task, 0);
      return;
    }
    for (std::int64_t first = 0; first < tasks; first += kMost) post(first, std::min(kMost, tasks - first), body, call);
    busy_.store(false, std::memory_order_release);
  }

 private:
  void leave() {
    leaving_ = true;
    event_signal(posted_, ++posts_);
    for (std::thread& worker : workers_) worker.join();
  }
  static void place(pthread_t thread, int number, const std::vector<int>& cores, const cpu_set_t& allowed, bool pin) {
    if (cores.empty()) return;
    cpu_set_t mask = allowed;
    // With more threads than cores, pinning would stack them.
    if (pin && static_cast<std::size_t>(number) < cores.size()) {
      CPU_ZERO(&mask);
      CPU_SET(cores[static_cast<std::size_t>(number)], &mask);
    }
    pthread_setaffinity_np(thread, sizeof mask, &mask);
  }

  // The members below belong to this round from here until its last task is done. Nobody claims before `open_` is
  // stored, and `open_` is 0 in its lower half as long as nothing is open.
  void post(std::int64_t first, std::int64_t tasks, const void* body, Task call) {
    first_ = first;
    tasks_ = tasks;
    body_ = body;
    call_ = call;
    undone_.store(tasks, std::memory_order_relaxed);
    const std::uint64_t round = ++posts_;
    open_.store(round << 32 | static_cast<std::uint64_t>(tasks), std::memory_order_seq_cst);
    event_signal(posted_, round);
    while (take(0)) {
    }
    for (int spin = 0; spin < kSpins && undone_.load(std::memory_order_acquire) > 0; ++spin) event_pause();
    event_wait(finished_, round);
  }

  /// Does one task if there is one. The counter tells the round too: who succeeds knows that the members are its own.
  bool take(int thread) {
    std::uint64_t open = open_.load(std::memory_order_acquire);
    while (open & std::numeric_limits<std::uint32_t>::max()) {
      if (!open_.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const std::int64_t left = static_cast<std::int64_t>(open & std::numeric_limits<std::uint32_t>::max());
      const std::uint64_t round = posts_;
      call_(body_, first_ + tasks_ - left, thread);
      if (undone_.fetch_sub(1, std::memory_order_acq_rel) == 1) event_signal(finished_, round);
      return true;
    }
    return false;
  }

  void work(int thread) {
    pthread_setname_np(pthread_self(), "baleen-cpu");
    std::uint64_t seen = 0;
    while (!leaving_.load(std::memory_order_acquire)) {
      if (take(thread)) continue;
      bool posted = false;
      for (int spin = 0; spin < kSpins && !posted; ++spin) {
        event_pause();
        posted = event_value(posted_) > seen;
      }
      if (!posted) event_wait(posted_, seen + 1);
      seen = event_value(posted_);
    }
  }

  std::atomic<std::uint64_t> open_{0};  ///< round << 32 | tasks that nobody has claimed yet
  std::int64_t first_ = 0, tasks_ = 0;
  const void* body_ = nullptr;
  Task call_ = nullptr;
  alignas(64) std::atomic<std::int64_t> undone_{0};
  alignas(64) baleen_event_t posted_{sizeof(baleen_event_t), 0, 0, nullptr};
  alignas(64) baleen_event_t finished_{sizeof(baleen_event_t), 0, 0, nullptr};
  std::uint64_t posts_ = 0;  ///< the present round's number
  std::atomic<bool> busy_{false}, leaving_{false};
  std::vector<std::thread> workers_;
};

Threads::Threads(std::int64_t count, bool pin, bool start) : pin_(pin) {
  CPU_ZERO(&allowed_);
  // Of the process, not of this thread: some library may have pinned the caller.
  if (sched_getaffinity(getpid(), sizeof allowed_, &allowed_) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed_)) cores_.push_back(core);
  count_ = count > 0 ? static_cast<int>(count) : cores_.empty() ? 1 : static_cast<int>(cores_.size());
  const bool fits = static_cast<std::size_t>(count_) <= cores_.size();
  if (!start || count_ <= 1) return;
  // Where every core has a thread, their order is of no meaning.
  if (pin_ && static_cast<std::size_t>(count_) < cores_.size()) cores_ = cores_first(cores_);
  pool_ = std::make_unique<Pool>(count_ - 1, cores_, allowed_, pin_ && fits);
}

Threads::~Threads() = default;

void Threads::run(std::int64_t tasks, const void* body, Task call) const { pool_->run(tasks, body, call); }

}  // namespace baleen::cpu
