/// \file Propagation: from what strategies ask to a layout for every value (docs/design.md,
/// Propagation, rules 1 to 8).
#pragma once
#include "compiler/placement/placement.hpp"

namespace baleen {

/// Chooses, for each op in order and axis by axis in mesh order, what it does along the axis; linear in the graph. The
/// graph has a mesh and is complete: forward, backward with twins, update. Fails where no candidate is left, naming op,
/// axis and parameter, and on requests that do not fit. [plan time]
Result<PlacedGraph> propagate(const Graph& graph, const PlacementRequest& request);

}  // namespace baleen
