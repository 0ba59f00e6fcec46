/// \file The conversion table: which collectives turn one layout into another, and what they send. Pure functions.
#pragma once
#include "compiler/layout/layout.hpp"

namespace baleen {

/// What a step does along its axis. The last three send nothing.
enum class CollectiveOp {
  all_reduce,      ///< partial → replicate
  reduce_scatter,  ///< partial → shard
  reduce,          ///< partial → at
  all_gather,      ///< shard → replicate
  all_to_all,      ///< shard → another shard; along several axes: another nesting of their splits
  broadcast,       ///< at → replicate
  send,            ///< at → at
  take_shard,      ///< replicate → shard: keeps its part
  take_partial,    ///< replicate, shard or at → partial: its part or one copy, the neutral element elsewhere
  take_at,         ///< replicate → at: others forget
};

/// Also the name of the op.
const char* to_string(CollectiveOp collective);
/// The way back.
std::optional<CollectiveOp> collective_named(const std::string& name);
/// Whether ranks talk.
bool sends(CollectiveOp collective);

/// The step for one axis, where the table has one: nothing for equal placements, and for those that go through
/// replicate (shard → at, at → shard, and from one kind of partial to the other).
std::optional<CollectiveOp> collective_between(const Placement& from, const Placement& to);

/// One collective between two layouts that differ in `axes`.
struct Step {
  CollectiveOp collective = CollectiveOp::all_reduce;
  std::vector<int> axes;  ///< ascending; one, except where all_to_all changes a nesting
  Layout from, to;
  /// Sent per rank, the mean over the group: (n−1)/n of what a rank holds without the axis (twice that for all_reduce,
  /// 1/n of it for all_to_all, 1/n of the value for send).
  double bytes = 0;
};

/// Elements of a value of this shape on a rank, axis `axis` not counted as a cut: the mean over ranks.
double mean_elements(const Shape& shape, const Layout& layout, const Mesh& mesh, int axis);

/// Bytes of converting on one axis alone, whose placement goes from `from` to `to`, of a value with `elements`
/// (mean_elements) elements of `element_bytes` bytes: the sum of the steps' where it takes two.
double conversion_bytes(const Placement& from, const Placement& to, double elements, std::size_t element_bytes,
                        std::int64_t axis_size);

/// The cheapest steps from one layout to the other (fewest where bytes tie). A step adds or removes only the innermost
/// split of a dimension (docs/design.md, Propagation, rule 8). Both layouts are canonical and fit the shape.
std::vector<Step> conversion(const Layout& from, const Layout& to, const Shape& shape, std::size_t element_bytes,
                             const Mesh& mesh);

double total_bytes(const std::vector<Step>& steps);

}  // namespace baleen
