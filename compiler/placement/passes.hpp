/// \file What this folder does to a graph, in order; the rules are in docs/design.md, Propagation.
#pragma once
#include "compiler/placement/placement.hpp"

namespace baleen {

/// The request with a layout for every parameter and state and a pin for every trained gradient (docs/design.md, rule
/// 6), in canonical form, and with axes of size 1 replicated. Fails on layouts that do not fit, naming value and axis.
/// Offers keep their numbers.
Result<PlacementRequest> complete_request(const Graph& graph, PlacementRequest request);

/// Chooses, for each op in order and axis by axis in mesh order, what it does along the axis; linear in the graph. The
/// graph has a mesh and is complete: forward, backward with forward ops, update. Fails where no candidate is left,
/// naming op, axis and parameter, and on requests that do not fit. [plan time]
Result<PlacedGraph> propagate(const Graph& graph, const PlacementRequest& request);

/// Sets every value's layout and rewrites the graph so that each op reads operands that lie as it was placed:
/// collectives stand before the first op that needs them, those of pins after the op that makes the value. Ops that
/// took an offer have it in their schedule, for the strategy that lowers them.
Status insert_conversions(Graph& graph, const PlacementRequest& request, const PlacedGraph& placed);

/// Puts ops that are cut along a letter which they reduce inside (Iteration::internal) as their expansions, placed like
/// them, with collectives for the small sums and maxima. Fails where a kind has no expansion. [after
/// insert_conversions]
Status lower_internal_reductions(Graph& graph);

/// That every op's operands lie as its iteration rule and its results' layouts call for; `baleen::verify` is assumed.
/// Ops that took an offer are exempt, and in local regions is looked for what LocalSpread can tell. The error names op,
/// axis and operand. `stated`: gets the first layout that a region states and that is not so, since with it a graph can
/// be compiled; null: it is an error too.
Status verify_layouts(const Graph& graph, std::optional<Error>* stated = nullptr);

/// Appends the collective in the graph's context; its result lies as the step says.
Result<ValueId> append_step(Graph& graph, ValueId value, const Step& step, bool every_micro_batch);

/// Checks new compute copies, gives their results the role, the name and the logical axes of their parameters, and puts
/// them behind the sources: what is gathered may then begin anywhere.
Status settle_compute_copies(Graph& graph);

inline bool is_compute_copy(const Op& op) { return op.schedule->compute_copy.has_value(); }

/// The parameter that a value is a compute copy of; other values are returned as they are.
ValueId master_parameter(const Graph& graph, ValueId value);

}  // namespace baleen
