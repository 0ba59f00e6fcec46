/// \file The one pool of threads of a device, sized and pinned for it.
#pragma once
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace baleen::cpu {

/// How many threads compute, and on which cores. Work is cut into tasks that never depend on the number of threads, so
/// that results do not either. A worker that the system gives no core to holds up nobody: the others take its tasks.
class Threads {
 public:
  /// `count` 0 means as many as this process may use. Without `start` they are counted only, and nothing may be run.
  Threads(std::int64_t count, bool pin, bool start = true);
  ~Threads();
  Threads(const Threads&) = delete;

  int count() const { return count_; }

  /// Runs body(task, thread) for each task in [0, tasks), in any order; thread is in [0, count()), and the caller is
  /// one of them. From within a body, or from a second thread meanwhile: all on the calling thread.
  template <class Body>
  void each(std::int64_t tasks, const Body& body) const {
    if (tasks <= 1 || count_ == 1) {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
    run(tasks, &body,
        [](const void* with, std::int64_t task, int thread) { (*static_cast<const Body*>(with))(task, thread); });
  }

  /// Runs body(begin, end, thread) over [0, total) in pieces of `grain`, in any order.
  template <class Body>
  void pieces(std::int64_t total, std::int64_t grain, const Body& body) const {
    each((total + grain - 1) / grain, [&](std::int64_t task, int thread) {
      const std::int64_t begin = task * grain;
      body(begin, begin + grain < total ? begin + grain : total, thread);
    });
  }

 private:
  class Pool;
  using Task = void (*)(const void* body, std::int64_t task, int thread);
  void run(std::int64_t tasks, const void* body, Task call) const;

  int count_;
  bool pin_;
  cpu_set_t allowed_;
  std::vector<int> cores_;
  std::unique_ptr<Pool> pool_;  ///< null with one thread, and where none is started
};

}  // namespace baleen::cpu
