/// \file The one pool of threads: OpenMP's, sized and pinned for a device, shared with oneDNN.
#pragma once
#include <sched.h>

#include <cstdint>
#include <vector>

namespace baleen::cpu {

/// How many threads compute, and on which cores. Work is cut into tasks that never depend on the number of threads, so
/// that results do not either.
class Threads {
 public:
  /// `count` 0 means as many as this process may use.
  Threads(std::int64_t count, bool pin);

  int count() const { return count_; }

  /// Sizes and pins the OpenMP pool of the calling thread, unless it is already so. The calling thread itself keeps its
  /// mask, since every thread it starts later would inherit it.
  void prepare() const;

  /// Runs body(task, thread) for each task in [0, tasks), in any order; thread is in [0, count()).
  template <class Body>
  void each(std::int64_t tasks, const Body& body) const {
    if (tasks <= 1 || count_ == 1) {
      for (std::int64_t task = 0; task < tasks; ++task) body(task, 0);
      return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(count_)
    for (std::int64_t task = 0; task < tasks; ++task) body(task, current());
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
  static int current();

  int count_;
  bool pin_;
  std::uint64_t identity_;
  cpu_set_t allowed_;
  std::vector<int> cores_;
};

}  // namespace baleen::cpu
