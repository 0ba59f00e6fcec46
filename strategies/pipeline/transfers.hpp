/// \file What a table leaves of the time that its sends take: the actions once more, with transfers between them.
/// Numbers only, as timing.hpp; what a benchmark holds measured steps against.
#pragma once
#include "timing.hpp"

namespace baleen::pipeline {

/// How what leaves a stage gets to the next one.
struct Transfers {
  enum class Posted {
    at_once,   ///< a rank asks for all that it will ever receive at the beginning: the most that a table allows
    one_ahead  ///< for what an action receives when the action before the one in front of it is over, as programs do
  };
  double time = 0;        ///< that one transfer holds the sender's link, and the receiver's
  bool both_ways = true;  ///< a rank has a link for what it sends and another one for what it receives
  Posted posted = Posted::one_ahead;
};

/// As time_table. A transfer is carried when its sender has made it and its receiver has asked for it; it waits for the
/// links' earlier ones, and holds each for its time. Sending takes no time of a rank.
Result<Timing> time_with_transfers(const Table& table, const PassTimes& times, const Transfers& transfers);

/// What the rank with the most sends in a step.
std::size_t most_sent(const Table& table);

/// Which part of the time of a rank's sends, those of the rank with the most, a step does not grow by: 1 where all
/// hides. Below 0 where a step grows by more, since transfers wait for each other.
Result<double> hidden_share(const Table& table, const PassTimes& times, const Transfers& transfers);

}  // namespace baleen::pipeline
