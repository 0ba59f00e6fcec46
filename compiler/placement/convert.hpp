/// \file Puts a placed graph's conversions into the graph, as collective ops.
#pragma once
#include "compiler/placement/placement.hpp"

namespace baleen {

/// Sets every value's layout and rewrites the graph so that each op reads operands that lie as it was placed:
/// collectives stand before the first op that needs them, those of pins after the op that makes the value. Ops that
/// took an offer get the tags "offer" (its name) and "owner", for the strategy that lowers them.
Status insert_conversions(Graph& graph, const PlacementRequest& request, const PlacedGraph& placed);

/// Puts ops that are cut along a letter which they reduce inside (Iteration::internal) as their expansions, placed like
/// them, with collectives for the small sums and maxima. Fails where a kind has no expansion. [after
/// insert_conversions]
Status lower_internal_reductions(Graph& graph);

/// That every op's operands lie as its iteration rule and its results' layouts call for; `baleen::verify` is assumed.
/// Ops with the tag "offer" and local regions are exempt but for their edges. The error names op, axis and operand.
Status verify_layouts(const Graph& graph);

}  // namespace baleen
