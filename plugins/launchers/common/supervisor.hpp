/// \file The first host's launcher: its loop over the ranks of one job, wherever they are.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/local_ranks.hpp"
#include "common/other_hosts.hpp"
#include "common/progress.hpp"
#include "common/reminders.hpp"
#include "common/store.hpp"

namespace baleen::launchers {

/// Runs a job to its end, which is when every process has ended and all they wrote is written.
///
/// Signals to this process (HUP, INT, QUIT, TERM, USR1, USR2) go to the ranks of all hosts. If a rank fails, the others
/// are told and have `timeouts.grace` to leave. If this process dies, its ranks die, and the other hosts' soon after.
/// Destroyed early, it kills the ranks. [one thread, which starts the processes and lives as long as they do; nobody
/// else may wait for children]
class Supervisor : private RankEvents, private HostEvents {
 public:
  /// Borrows options and topology. `make_hosts`: where there are several hosts.
  Supervisor(const LaunchOptions& options, const Topology& topology, const MakeOtherHosts& make_hosts = {});
  Status start();
  Outcome run();

 private:
  void said(int rank, Message& message) override;
  void moved(int rank, const ProgressSnapshot& moment) override;
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
  void stop();
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
  bool may_be_common(Clock::time_point now) const;
  std::set<int> ranks_on_their_way() const;
  bool misses_silent_rank(Clock::time_point now) const;
  bool is_one_held(Clock::time_point now) const;
  void watch_farewell(Clock::time_point now);
  void hold_output();

  const LaunchOptions& options_;
  const Topology& topology_;
  std::optional<Signals> signals_;
  Output out_, err_;
  LocalRanks local_;
  std::unique_ptr<OtherHosts> hosts_;  ///< null where there is one
  Store store_;
  FirstCause cause_;
  std::vector<bool> running_;  ///< by rank
  std::set<int> passed_on_;    ///< signals that this process got
  bool started_ = false, out_ready_ = false, err_ready_ = false, output_held_ = false;
  std::optional<Clock::time_point> tell_at_;  ///< when the ranks are to be told, once the job fails
  std::optional<Clock::time_point> kill_at_;  ///< once the ranks were told that the job fails
  std::optional<Clock::time_point> drop_at_;  ///< once the hosts were told that the job is over
  Clock::time_point last_turn_;

  /// The wait at the rendezvous that is watched.
  struct Watched {
    Store::Wait wait;
    Clock::time_point since;
    Reminders reminders;
  };
  std::optional<Watched> watched_;
  UsualWait usual_wait_;  ///< at the rendezvous

  Progress progress_;
  std::set<int> held_;                 ///< ranks that a debugger has held
  Clock::time_point let_go_;           ///< when it last held one of them: what others waited until then is no stall
  std::optional<Reminders> of_stall_;  ///< once there is one
  Clock::time_point opened_;
  Reminders of_hosts_;
};

}  // namespace baleen::launchers
