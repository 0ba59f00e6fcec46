/// \file Letters that ranks send each other at plan time, and the news that one has gone.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "baleen/failure.hpp"

namespace baleen::ucx {

using namespace sdk;

/// [any thread]
class Mailroom {
 public:
  explicit Mailroom(std::size_t ranks) : boxes_(ranks) {}

  void put(std::int32_t from, std::string letter) {
    {
      std::lock_guard lock(mutex_);
      boxes_[static_cast<std::size_t>(from)].letters.push_back(std::move(letter));
    }
    changed_.notify_all();
  }
  /// No more letters come from there.
  void close(std::int32_t from, const std::string& why) {
    {
      std::lock_guard lock(mutex_);
      boxes_[static_cast<std::size_t>(from)].closed = true;
      boxes_[static_cast<std::size_t>(from)].why = why;
    }
    changed_.notify_all();
  }
  /// The failure is to be looked at.
  void wake() {
    { std::lock_guard lock(mutex_); }  // who has just looked is asleep before the notification
    changed_.notify_all();
  }
  /// Waits for the next letter; an error where none can come. `what` the caller does.
  Result<std::string> take(std::int32_t from, const FirstFailure& failure, const std::string& what) {
    std::unique_lock lock(mutex_);
    Box& box = boxes_[static_cast<std::size_t>(from)];
    changed_.wait(lock, [&] { return failure || !box.letters.empty() || box.closed; });
    if (failure) return std::move(failure.status()).error();
    if (box.letters.empty())
      return Error{BALEEN_PEER_LOST,
                   what + ": rank " + std::to_string(from) + " has left" +
                       (box.why.empty() ? "" : " (because: " + box.why + ")"),
                   {}};
    std::string letter = std::move(box.letters.front());
    box.letters.pop_front();
    return letter;
  }

 private:
  struct Box {
    std::deque<std::string> letters;
    bool closed = false;
    std::string why;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Box> boxes_;
};

}  // namespace baleen::ucx
