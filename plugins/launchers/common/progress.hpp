/// \file Whether the ranks of a job still do the same, from what their heartbeats say. Pure data.
#pragma once
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/failure.hpp"
#include "common/reminders.hpp"
#include "common/timeouts.hpp"

namespace baleen::launchers {

/// Where one rank stays behind for good, the others wait for it in a collective: nobody is silent, and nothing moves.
/// Where a transport loses a collective, all ranks have begun it and stand in it.
class Progress {
 public:
  Progress(int ranks, Clock::time_point now)
      : moments_(static_cast<std::size_t>(ranks)),
        heard_(moments_.size()),
        moved_(now),
        worked_(now),
        window_(now),
        stands_(now) {}

  /// What a rank said last.
  void see(int rank, const ProgressSnapshot& moment, Clock::time_point now);
  /// Time in which this process could not look does not count.
  void forgive(Clock::duration pause);

  /// When any rank has got further, or has said that it does something else.
  Clock::time_point moved() const { return moved_; }
  /// The same, or when any has read or written much: a rank that does nothing else is late, and is not stuck.
  Clock::time_point worked() const { return std::max(moved_, worked_); }
  /// Since when no rank has moved though they have not begun equally many collectives, or though every one stands in a
  /// collective. Nothing where neither is so.
  std::optional<Clock::time_point> stalled_since() const;
  /// Whether it is the second: no rank is waited for.
  bool all_stand() const;
  /// How long such a wait may last before it is worth a word: `least`; twice as long as waits that are usual in this
  /// job, such as those for one rank that saves; and twenty times as long as beats came late in the last half minute,
  /// where the machine hardly lets anybody run. At most `most`.
  Clock::duration patience(Clock::duration least, Clock::duration most) const;
  /// Whether a rank has told of itself within the last second, so that it waits or works and is not stopped.
  bool speaks(int rank, Clock::time_point now) const;
  bool all_speak(Clock::time_point now) const;
  /// Whether it has told of itself before, and not within the last second.
  bool is_silent(int rank, Clock::time_point now) const;
  /// Whether a rank is in this phase, by its last word.
  bool is_in(int rank, const std::string& phase) const;
  /// Who has begun the fewest; the first of several.
  int last() const;
  /// "waiting for rank 1 (step 5, training, collective 16 begun): others have begun collective 17", or "every rank
  /// stands in a collective that does not end: in all_reduce of ... (step 5, training, collective 17 begun); ...".
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
  std::string waiting_text() const;
  std::string standing_text() const;
  void hear(int rank, Clock::time_point now);
  void compare_runs(int rank, const ProgressSnapshot& moment);

  std::vector<ProgressSnapshot> moments_;                // by rank
  std::vector<std::optional<Clock::time_point>> heard_;  // by rank
  Clock::time_point moved_, worked_, window_;            // when any of them did; when `late_` began anew
  Clock::time_point stands_;                             // since when they stand in the collectives in which they do
  UsualWait usual_;
  Clock::duration late_{}, late_before_{};
  std::map<std::uint32_t, Run> runs_;  // by number: the last thousand of those that beats told of
  std::optional<std::string> divergence_;
};

}  // namespace baleen::launchers
