/// \file The pool's size and its cores.
#include "threads.hpp"

#include <omp.h>
#include <unistd.h>

#include <atomic>

namespace baleen::cpu {
namespace {

std::uint64_t next_identity() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// Which device's pool the calling thread has; OpenMP keeps one pool per calling thread.
thread_local std::uint64_t prepared_for = 0;

}  // namespace

Threads::Threads(std::int64_t count, bool pin) : pin_(pin), identity_(next_identity()) {
  CPU_ZERO(&allowed_);
  // Of the process, not of this thread: some library may have pinned the caller.
  if (sched_getaffinity(getpid(), sizeof allowed_, &allowed_) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed_)) cores_.push_back(core);
  count_ = count > 0 ? static_cast<int>(count) : cores_.empty() ? 1 : static_cast<int>(cores_.size());
}

int Threads::current() { return omp_get_thread_num(); }

void Threads::prepare() const {
  if (prepared_for == identity_) return;
  omp_set_dynamic(0);
  omp_set_num_threads(count_);
#pragma omp parallel num_threads(count_)
  if (const auto thread = static_cast<std::size_t>(omp_get_thread_num()); thread > 0 && !cores_.empty()) {
    cpu_set_t mask = allowed_;
    // With more threads than cores, pinning would stack them.
    if (pin_ && static_cast<std::size_t>(count_) <= cores_.size()) {
      CPU_ZERO(&mask);
      CPU_SET(cores_[thread], &mask);
    }
    sched_setaffinity(0, sizeof mask, &mask);
  }
  prepared_for = identity_;
}

}  // namespace baleen::cpu
