/// \file A job's graph as a user of layers sees it: a line for each, and what all of them come to.
#pragma once
#include <string>
#include <vector>

#include "compiler/plan/plan.hpp"

namespace baleen::app {

/// A line for each layer of the forward pass in its order: name, shape of what it gives, parameters, FLOPs of one run
/// of the graph there and in the backward pass, bytes of activations that are kept for the backward pass, line of the
/// script; then the total. All of it is of all ranks together.
std::string layer_table(const ScheduledGraph& scheduled, const std::vector<PersistentSpec>& persistent);

}  // namespace baleen::app
