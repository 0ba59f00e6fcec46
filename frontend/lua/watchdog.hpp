/// \file Ends a process whose script sits in one call of C for ever, where Lua's own limit cannot look.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace baleen {

/// While it lives: calls `bark` on a thread of its own when the time is over. What `bark` does should not return to
/// where it was.
class Watchdog {
 public:
  Watchdog(std::chrono::milliseconds time, std::function<void()> bark)
      : thread_([this, time, bark = std::move(bark)] {
          std::unique_lock lock(mutex_);
          if (!over_.wait_for(lock, time, [this] { return called_off_; })) bark();
        }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      called_off_ = true;
    }
    over_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool called_off_ = false;
  std::thread thread_;
};

}  // namespace baleen
