/// \file Checks a placement request and fills in what it leaves open.
#pragma once
#include "compiler/placement/placement.hpp"

namespace baleen {

/// The request with a layout for every parameter and state and a pin for every trained gradient (docs/design.md, rule
/// 6), in canonical form, and with axes of size 1 replicated. Fails on layouts that do not fit, naming value and axis.
/// Offers keep their numbers.
Result<PlacementRequest> complete_request(const Graph& graph, PlacementRequest request);

}  // namespace baleen
