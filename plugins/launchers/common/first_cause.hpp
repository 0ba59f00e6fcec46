/// \file Finds the one thing to tell when a job fails: what came first, told apart from what followed from it.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/failure.hpp"
#include "common/topology.hpp"

namespace baleen::launchers {

/// How a job ended.
struct Outcome {
  Status status;  ///< or the first cause, its message naming the ranks (none where all failed alike) and the moment
  std::vector<std::string> recorded = {};  ///< the last lines of the log of the rank that failed first, if it sent them
  int exit_code = -1;    ///< of the process that the cause is about, where it ended with one of its own
  int signal = 0;        ///< the launcher was told to end by this signal, and the ranks did; `status` is good then
  bool is_told = false;  ///< by the first host's launcher, which speaks for this one
};

/// Collects what happened, in the order in which it became known. A rank's "peer lost" is a consequence as long as
/// anything else happened. So is a rank's crash where another rank or its host was ended from outside: libraries of
/// transports may crash when a peer goes (UCX 1.13 aborts where it was about to connect), and a crash ends no process
/// but its own.
class FirstCause {
 public:
  explicit FirstCause(Topology topology) : topology_(std::move(topology)) {}

  /// The rank said so itself.
  void failed(int rank, Failure failure);
  /// Its process was killed by a signal; `moment` is what it said last. Programming errors (SIGSEGV, ...) are INTERNAL.
  void killed(int rank, int signal, ProgressSnapshot moment);
  /// Its process exited. With 0, that is a failure only before the rank said that it is done.
  void exited(int rank, int code, ProgressSnapshot moment);
  /// It ended by a signal that the launcher passed on.
  void told_to_end(int rank, int signal);
  /// The launcher judges so: silence, no start, ...
  void judged(int rank, Error error, ProgressSnapshot moment);
  /// The host itself is lost, or cannot go on; nothing more will be heard of its ranks. -1: no host in particular.
  void lost_host(int host, Error error);

  bool any() const { return !events_.empty(); }
  /// Whether ranks of which nothing is known yet may be about to say the same: the cause is what a rank said itself.
  bool may_be_common() const;
  /// Whether a rank said it before it trained: of what all ranks do from the script and the manifest.
  bool is_of_the_start() const { return any() && first().is_own && first().failure.moment.step < 0; }
  /// Of which anything is known.
  std::set<int> known_ranks() const;
  /// Why the others are told to stop; needs any().
  std::string reason() const;
  Outcome outcome() const;
  /// What followed, a line each, for those who look closer.
  std::vector<std::string> consequences() const;

 private:
  struct Event {
    int rank;  ///< -1: of a host
    Failure failure;
    bool lost_peer = false;  ///< says that another rank ended
    int signal = 0;          ///< told to end
    int host = -1;
    bool is_own = false;  ///< the rank said so itself
    bool is_crash = false;
    /// Whether nothing that a rank does can have led to it.
    bool is_from_outside() const { return signal || (!is_own && failure.error.code == BALEEN_PEER_LOST); }
  };
  const Event& first() const;
  /// The ranks that failed in the same way, and how far all of them had come.
  struct Alike {
    std::vector<int> ranks;
    ProgressSnapshot moment;
  };
  Alike alike(const Event& event) const;
  std::string text(const Event& event) const;

  std::string who(const Event& event) const;

  Topology topology_;
  std::vector<Event> events_;
  std::map<int, int> exit_codes_;
};

}  // namespace baleen::launchers
