/// \file The ranks of this host: started, watched, listened to, and ended.
#pragma once
#include <poll.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/launch_options.hpp"
#include "common/output.hpp"
#include "common/rank_events.hpp"
#include "common/rank_process.hpp"
#include "common/signals.hpp"

namespace baleen::launchers {

/// Destroyed early, it kills them. [one thread]
class LocalRanks {
 public:
  /// Borrows all of them.
  LocalRanks(const LaunchOptions& options, const Topology& topology, RankEvents& events, LineSink& out, LineSink& err);

  /// `signals` are what was blocked before this process watched its own. `address`: Place::address.
  Status start(const sigset_t& signals, const std::string& address);

  /// What to wait for.
  void add_polls(std::vector<pollfd>& all) const;
  /// Does what there is to do; tells the events.
  void turn(Clock::time_point now);
  /// Time in which this process could not look does not count.
  void forgive(Clock::duration pause);

  void send(int rank, const Message& message);
  void send_all(const Message& message);
  /// A signal that somebody gave this launcher. `came_too`: the system gave it to the ranks itself.
  void signal(int signal, bool came_too);
  /// Kills those that are still there, but for those that are spared; a stopped one is condemned.
  void end_leftovers(Clock::time_point now, const std::function<bool(int rank)>& is_spared = {});
  bool any_running() const;

 private:
  void serve(RankProcess& rank, Clock::time_point now);
  void reap(RankProcess& rank, Clock::time_point now);
  void watch(RankProcess& rank, Clock::time_point now);
  void watch_leaving(RankProcess& rank, Clock::duration silence);
  void condemn(RankProcess& rank, Error error);

  const LaunchOptions& options_;
  const Topology& topology_;
  RankEvents& events_;
  LineSink &out_, &err_;
  std::vector<std::unique_ptr<RankProcess>> ranks_;
  int first_ = 0;               ///< rank of this host
  std::set<int> signals_sent_;  ///< that somebody gave this launcher
};

/// How often launchers look though nothing happens.
constexpr int kTickMilliseconds = 50;
/// A longer pause between two turns means that this process itself was stopped or starved, and maybe others with it.
constexpr std::chrono::seconds kOwnPause{1};

/// How much of the time between two turns proves nothing about the silence of others. The rest does, so that who hardly
/// gets to run still finds out, after more turns.
constexpr Clock::duration own_pause(Clock::time_point last_turn, Clock::time_point now) {
  const Clock::duration pause = now - last_turn - kOwnPause;
  return pause > Clock::duration{} ? pause : Clock::duration{};
}

}  // namespace baleen::launchers
