/// \file Tells the launcher in which collective this rank stands.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/execute/communicator.hpp"
#include "core/launch/rank_link.hpp"

namespace baleen::app {

/// Looks four times a second, on a thread of its own, from its construction to its end.
class StandingWatch {
 public:
  /// Both outlive it.
  StandingWatch(Communicator& communicator, RankLink& link);
  ~StandingWatch();
  StandingWatch(const StandingWatch&) = delete;

 private:
  void run();

  Communicator& communicator_;
  RankLink& link_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace baleen::app
