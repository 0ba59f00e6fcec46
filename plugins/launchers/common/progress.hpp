/// \file Whether the ranks of a job still do the same, from what their heartbeats say. Pure data.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/failure.hpp"
#include "common/timeouts.hpp"

namespace baleen::launchers {

/// Where one rank stays behind for good, the others wait for it in a collective: nobody is silent, and nothing moves.
class Progress {
 public:
  Progress(int ranks, Clock::time_point now)
      : moments_(static_cast<std::size_t>(ranks)), heard_(moments_.size()), moved_(now), window_(now) {}

  /// What a rank said last.
  void see(int rank, const ProgressSnapshot& moment, Clock::time_point now);
  /// Time in which this process could not look does not count.
  void forgive(Clock::duration pause);

  /// Since when no rank has moved though they have not begun equally many collectives; nothing where they have.
  std::optional<Clock::time_point> stalled_since() const;
  /// How long such a wait may last before it is worth a word: `least`; twice as long as waits that are usual in this
  /// job, such as those for one rank that saves; and twenty times as long as beats came late in the last half minute,
  /// where the machine hardly lets anybody run. At most `most`.
  Clock::duration patience(Clock::duration least, Clock::duration most) const;
  /// Whether a rank has told of itself within the last second, so that it waits or works and is not stopped.
  bool speaks(int rank, Clock::time_point now) const;
  /// Who has begun the fewest; the first of several.
  int last() const;
  /// "waiting for rank 1 (step 5, training, collective 16 begun): others have begun collective 17".
  std::string text() const;
  /// Where two ranks have run different programs: "rank 1 runs program `b` where rank 0 runs program `a` (run 12 of the
  /// job's programs)". The first difference that was seen.
  const std::optional<std::string>& divergence() const { return divergence_; }

 private:
  struct Run {
    std::uint32_t order;
    std::string program;
    int rank;  // who said so first
  };

  std::int64_t most() const;
  void hear(int rank, Clock::time_point now);
  void compare_runs(int rank, const ProgressSnapshot& moment);

  std::vector<ProgressSnapshot> moments_;                // by rank
  std::vector<std::optional<Clock::time_point>> heard_;  // by rank
  Clock::time_point moved_, window_;                     // when any of them moved; when `late_` began anew
  Clock::duration usual_{}, late_{}, late_before_{};
  std::map<std::uint32_t, Run> runs_;  // by number: the last thousand of those that beats told of
  std::optional<std::string> divergence_;
};

}  // namespace baleen::launchers
