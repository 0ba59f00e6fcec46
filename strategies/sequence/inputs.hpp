/// \file The sequence in a graph: which dimensions have it, and the graph's inputs cut along it.
#pragma once
#include <optional>

#include "baleen/strategy.hpp"

namespace baleen::sequence_parallel {

using namespace sdk;

/// The dimension with the logical axis `seq`.
std::optional<int> sequence_dimension(const baleen_value_info_t& value);

/// Lets `axis` cut the logical axis `seq`, and cuts the inputs that have it: in blocks, or in balanced chunks. At least
/// one must.
Status cut_inputs(GraphView graph, Placing placing, std::uint32_t axis, bool balanced);

/// The closed forms of an axis along which tokens are cut: whole states, a part of every value that has tokens, summed
/// gradients.
void expect_tokens(GraphView graph, Placing placing, std::uint32_t axis);

}  // namespace baleen::sequence_parallel
