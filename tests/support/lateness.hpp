/// \file How late this machine wakes who sleeps.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace baleen::test {

/// From its creation to `end`, a thread sleeps again and again and looks how much later than asked for it wakes. No
/// moment between is left out.
class Lateness {
 public:
  Lateness() : thread_([this] { look(); }) {}
  Lateness(const Lateness&) = delete;
  Lateness& operator=(const Lateness&) = delete;
  ~Lateness() { end(); }

  /// The most, in seconds. It looks no more then.
  double end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return most_.count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void look() {
    constexpr std::chrono::milliseconds kNap(20);
    for (bool last = false; !last;) {
      last = over_;
      std::this_thread::sleep_for(kNap);
      const Clock::time_point before = std::exchange(woken_, Clock::now());
      most_ = std::max<std::chrono::duration<double>>(most_, woken_ - before - kNap);
    }
  }

  std::atomic<bool> over_{false};
  std::chrono::duration<double> most_{0};
  Clock::time_point woken_ = Clock::now();
  std::thread thread_;
};

}  // namespace baleen::test
