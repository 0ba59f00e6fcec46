/// \file Reverse-mode differentiation of a graph by the kinds' gradient rules.
#pragma once
#include "compiler/graph/graph.hpp"

namespace baleen {

/// Appends the backward pass of the scalar `loss`, whose cotangent is `seed` (a scalar value), in phase `backward`,
/// every new op with its forward twin (sums of cotangents have none: they take part in no one op's layout). Returns the
/// gradient of each of `targets`, kNone where the loss does not depend on it. Several cotangents of one value are
/// summed by one n-ary pointwise op, in the order of the forward uses; where they are pads of pieces that tile the
/// value (the gradients of slices), one concat takes their place. The gradients get Role::gradient.
Result<std::vector<ValueId>> differentiate(Graph& graph, ValueId loss, ValueId seed,
                                           const std::vector<ValueId>& targets);

}  // namespace baleen
