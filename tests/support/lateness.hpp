/// \file How late this machine wakes who sleeps.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace baleen::test {

/// From its creation on, a thread sleeps again and again and looks how much later than asked for it wakes.
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
  void look() {
    constexpr std::chrono::milliseconds kNap(20);
    while (!over_) {
      const auto begin = std::chrono::steady_clock::now();
      std::this_thread::sleep_for(kNap);
      most_ = std::max<std::chrono::duration<double>>(most_, std::chrono::steady_clock::now() - begin - kNap);
    }
  }

  std::atomic<bool> over_{false};
  std::chrono::duration<double> most_{0};
  std::thread thread_;
};

}  // namespace baleen::test
