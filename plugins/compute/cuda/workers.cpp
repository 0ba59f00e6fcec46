/// \file Threads that take the next task until there is none.
#include "workers.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace baleen::cuda {

// Of the process: some library may have pinned this thread.
std::size_t usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(::getpid(), sizeof set, &set) == 0)
    return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
  return std::max(std::thread::hardware_concurrency(), 1u);
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    tasks_.clear();
  }
  for (std::thread& thread : threads_) thread.join();
}

void Workers::add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (working_ == most_) return;
  if (working_ == 0) {  // all have ended, or are about to without this lock
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  threads_.emplace_back([this] { work(); });
  ++working_;
}

void Workers::work() {
  for (;;) {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) {
        --working_;
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace baleen::cuda
