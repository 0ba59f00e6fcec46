/// \file The launcher's loop over the ranks of one job.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/launch/launcher.hpp"
#include "core/launch/output.hpp"
#include "core/launch/progress.hpp"
#include "core/launch/rank_process.hpp"
#include "core/launch/signals.hpp"
#include "core/launch/store.hpp"

namespace baleen {

/// See `launch`. Destroyed early, it kills the ranks. [one thread]
class Supervisor {
 public:
  explicit Supervisor(const LaunchOptions& options);
  Status start();
  Outcome run();

 private:
  bool is_over() const;
  void wait();
  void turn(Clock::time_point now);
  void take_signals();
  void serve(RankProcess& rank, Clock::time_point now);
  void serve(RankProcess& rank, Message& message);
  void answer(const Store::Answers& answers);
  void reap(RankProcess& rank, Clock::time_point now);
  void judge_end(RankProcess& rank, int status);

  void watch(RankProcess& rank, Clock::time_point now);
  void watch_leaving(RankProcess& rank, Clock::duration silence);
  void condemn(RankProcess& rank, Error error);
  void watch_rendezvous(Clock::time_point now);
  void watch_progress(Clock::time_point now);
  void watch_ending(Clock::time_point now);

  const LaunchOptions& options_;
  std::optional<Signals> signals_;
  Output out_, err_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  Store store_;
  FirstCause cause_;
  std::set<int> passed_on_;                   ///< signals that this process got
  std::optional<Clock::time_point> kill_at_;  ///< once the ranks were told that the job fails
  Clock::time_point last_turn_;
  bool out_ready_ = false, err_ready_ = false;

  /// The wait at the rendezvous that is watched.
  struct Watched {
    Store::Wait wait;
    Clock::time_point since;
    Clock::duration remind_after;
  };
  std::optional<Watched> watched_;

  Progress progress_;
  std::optional<Clock::duration> remind_of_stall_after_;  ///< once reminded
};

}  // namespace baleen
