/// \file The thread that looks.
#include "frontend/engine/standing_watch.hpp"

#include <chrono>

namespace baleen::app {

StandingWatch::StandingWatch(Communicator& communicator, RankLink& link)
    : communicator_(communicator), link_(link), thread_([this] { run(); }) {}

StandingWatch::~StandingWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StandingWatch::run() {
  constexpr std::chrono::milliseconds kPause(250);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kPause, [&] { return is_over_; })) link_.stands_in(communicator_.stands_in());
}

}  // namespace baleen::app
