/// \file When a table's actions begin and end, if passes take given times and sends none; and whether it can be carried
/// out at all.
#pragma once
#include "table.hpp"

namespace baleen::pipeline {

/// Time of the passes of one micro-batch through a rank's whole share of the model, in any unit; a chunk's is its part
/// of it. `weights` belongs to the backward pass where a table does not tell it apart.
struct PassTimes {
  double forward = 1, backward = 1, weights = 1;

  double all() const { return forward + backward + weights; }
};

struct Span {
  double begin = 0, end = 0;
};

struct Timing {
  std::vector<std::vector<Span>> spans;  ///< by rank, as the table's actions
  double makespan = 0;                   ///< from the first action of any rank to the last
  double longest = 0;                    ///< the longest time of one rank from its first action to its last
};

/// Each action begins when its rank's one before is over, and what it needs of other ranks is there: the forward pass
/// of the stage before, the backward pass of the stage behind. An error names a rank and the action that waits for
/// ever.
Result<Timing> time_table(const Table& table, const PassTimes& times);

/// Every pass of every micro-batch and chunk once, those of one pass and chunk ascending, and no rank waits for ever.
Status check_table(const Table& table);

/// The most chunks of micro-batches whose forward pass a rank has begun and whose last pass is not over: as many it
/// holds activations of.
std::uint32_t peak_in_flight(const Actions& actions);

}  // namespace baleen::pipeline
