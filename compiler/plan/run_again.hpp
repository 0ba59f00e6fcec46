/// \file Forward ops that run again in the backward pass, and what a graph holds at once with them and without.
#pragma once
#include <vector>

#include "compiler/plan/plan.hpp"

namespace baleen {

/// What backward ops read of these forward ops' results becomes a copy, made right before the first that needs it
/// (baleen_recompute_t::again in strategy.h has the rules). Ops whose results no backward op needs are left alone. The
/// order of the graph is restored. Errors name the op.
Status run_again(Graph& graph, const std::vector<OpId>& ops);

/// The most bytes that a rank holds at once in the forward and backward sections: inputs and results of ops, the most
/// of any rank each, without parameters, their copies and their gradients.
std::uint64_t working_peak(const ScheduledGraph& scheduled);

}  // namespace baleen
