/// \file The first host's launcher: its loop over the ranks of one job, wherever they are.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/launch/local_ranks.hpp"
#include "core/launch/progress.hpp"
#include "core/launch/remote_hosts.hpp"
#include "core/launch/store.hpp"

namespace baleen {

/// See `launch`. Destroyed early, it kills the ranks. [one thread]
class Supervisor : private RankEvents, private HostEvents {
 public:
  /// Borrows both.
  Supervisor(const LaunchOptions& options, const Topology& topology);
  Status start();
  Outcome run();

 private:
  void said(int rank, Message& message) override;
  void moved(int rank, const Moment& moment) override;
  void condemned(int rank, const Failure& failure) override;
  void ended(int rank, const RankEnd& end) override;
  void held(int rank) override;
  void all_here() override;
  void host_said(int host, Message& message) override;
  void host_lost(int host, Error error) override;

  bool is_over();
  bool any_running() const;
  void wait();
  void turn(Clock::time_point now);
  void take_signals();
  void start_ranks();
  void send(int rank, const Message& message);
  void answer(const Store::Answers& answers);
  void judge_end(int rank, const RankEnd& end);
  void nonsense(int rank);
  void leave(int rank);

  void watch_hosts(Clock::time_point now);
  void watch_rendezvous(Clock::time_point now);
  void watch_progress(Clock::time_point now);
  void watch_ending(Clock::time_point now);
  void watch_farewell(Clock::time_point now);
  void hold_output();

  const LaunchOptions& options_;
  const Topology& topology_;
  std::optional<Signals> signals_;
  Output out_, err_;
  LocalRanks local_;
  std::unique_ptr<RemoteHosts> hosts_;  ///< null where there is one
  Store store_;
  FirstCause cause_;
  std::vector<bool> running_;  ///< by rank
  std::set<int> passed_on_;    ///< signals that this process got
  bool started_ = false, out_ready_ = false, err_ready_ = false, output_held_ = false;
  std::optional<Clock::time_point> kill_at_;  ///< once the ranks were told that the job fails
  std::optional<Clock::time_point> drop_at_;  ///< once the hosts were told that the job is over
  Clock::time_point last_turn_;

  /// The wait at the rendezvous that is watched.
  struct Watched {
    Store::Wait wait;
    Clock::time_point since;
    Clock::duration remind_after;
  };
  std::optional<Watched> watched_;

  Progress progress_;
  bool any_held_ = false;
  std::optional<Clock::duration> remind_of_stall_after_;  ///< once reminded
  Clock::time_point opened_;
  Clock::duration remind_of_hosts_after_;
};

}  // namespace baleen
