/// \file Threads that take the next part.
#include "parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "baleen/caught.hpp"

namespace baleen::text {

std::size_t usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
  return std::max(std::thread::hardware_concurrency(), 1u);
}

Status for_each_part(std::size_t count, std::size_t threads, const std::function<Status(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t failed = count;
  Status first;
  const auto guarded = [&](std::size_t part) -> Status {
    try {
      return work(part);
    } catch (...) {
      return sdk::caught_error();
    }
  };
  const auto take = [&] {
    for (std::size_t part = next++; part < count; part = next++) {
      Status status = guarded(part);
      if (status) continue;
      const std::lock_guard lock(mutex);
      next = count;
      if (part < failed) first = std::move(status), failed = part;
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take);
  } catch (const std::system_error&) {  // no more threads: those that are there do all of it
  }
  take();
  for (std::thread& thread : others) thread.join();
  return first;
}

}  // namespace baleen::text
