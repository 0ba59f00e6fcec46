/// \file The launcher of a host after the first: starts its ranks when told to, and passes on what they say and need.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "common/local_ranks.hpp"
#include "host_link.hpp"

namespace baleen::launchers {

/// What ranks write, on its way to the first host.
class RelayedOutput : public LineSink {
 public:
  /// `code` as in MessageKind::output. Borrows the link, which may come later.
  RelayedOutput(std::unique_ptr<HostLink>& link, int code) : link_(link), code_(code) {}
  void add(std::string_view whole_lines) override;
  bool is_full() const override { return held || !link_ || link_->is_full(); }

  bool held = false;  ///< the first host wants no more for now

 private:
  std::unique_ptr<HostLink>& link_;
  int code_;
};

/// See `launch`. Destroyed early, it kills the ranks. [one thread]
class Agent : private RankEvents {
 public:
  /// Borrows both.
  Agent(const ClusterOptions& options, const Topology& topology);
  Outcome run();

 private:
  void said(int rank, Message& message) override;
  void moved(int rank, const ProgressSnapshot& moment) override;
  void condemned(int rank, const Failure& failure) override;
  void ended(int rank, const RankEnd& end) override;
  void held(int rank) override;

  Status join();
  /// A signal that ends this process, if one came.
  std::optional<int> told_to_end();
  void loop();
  void turn(Clock::time_point now);
  void take_signals();
  void obey(Message& message);
  void start_ranks();
  void send(Message message, int rank);
  /// The job is over for this host, this being the reason.
  void end(Error why, Clock::time_point now);
  bool is_over() const;
  std::string first_host() const;

  const ClusterOptions& options_;
  const Topology& topology_;
  std::optional<Signals> signals_;
  std::unique_ptr<HostLink> link_;
  RelayedOutput out_, err_;
  LocalRanks local_;
  Outcome outcome_;
  bool left_ = false;  ///< the first host said the last word, or is lost
  std::optional<Clock::time_point> kill_at_;
  Clock::time_point last_turn_;
};

}  // namespace baleen::launchers
