/// \file What the sources of `pointwise` give each other.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "baleen/op_reader.hpp"

namespace baleen::ops {

/// The sets of `inputs` in which all results are jointly linear. All subsets are tried for up to six inputs; above
/// that, each input alone and all together.
std::vector<std::vector<std::uint32_t>> linear_sets(std::span<const baleen_instruction_t> code,
                                                    std::span<const std::int64_t> results,
                                                    std::span<const std::uint32_t> inputs);

/// The gradient rule: one pointwise per wanted input, and a sum over the dimensions along which the input was
/// broadcast.
sdk::Values pointwise_gradient(sdk::GraphView& graph, baleen_op_t op, sdk::Cotangents cotangents, sdk::Wanted wanted);

}  // namespace baleen::ops
