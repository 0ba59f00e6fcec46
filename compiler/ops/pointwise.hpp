/// \file What the two sources of `pointwise` give each other.
#pragma once
#include <optional>

#include "compiler/ops/rules.hpp"

namespace baleen::ops {

/// The sets of `inputs` in which all results are jointly linear. All subsets are tried for up to six inputs; above
/// that, each input alone and all together.
std::vector<std::vector<std::uint32_t>> linear_sets(const Expression& expression,
                                                    const std::vector<std::int64_t>& results,
                                                    const std::vector<std::uint32_t>& inputs);

/// The gradient rule: one pointwise per wanted input, and a sum over the dimensions along which the input was
/// broadcast.
Result<Values> pointwise_gradient(Graph& graph, const Op& op, const Values& cotangents,
                                  const std::vector<bool>& wanted);

}  // namespace baleen::ops
