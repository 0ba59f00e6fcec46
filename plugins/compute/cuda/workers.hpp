/// \file Threads for tasks that may be done beside each other.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace baleen::cuda {

/// How many processors the process may use.
std::size_t usable_processors();

/// Begins tasks in the order in which they came. Threads are there while there are tasks. [any thread]
class Workers {
 public:
  explicit Workers(std::size_t most) : most_(most) {}
  /// Waits for the tasks that have begun; the others never do.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `task` throws nothing.
  void add(std::function<void()> task);

 private:
  void work();

  std::size_t most_;
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
  std::size_t working_ = 0;
  std::vector<std::thread> threads_;  ///< also such as have ended
};

}  // namespace baleen::cuda
