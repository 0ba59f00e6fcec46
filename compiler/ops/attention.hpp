/// \file What the two sources of `attention` give each other.
#pragma once
#include "compiler/ops/builder.hpp"

namespace baleen::ops {

/// The expansions: S×T scores are made, so these are a reference and not for long sequences.
Result<Values> expand_attention(Graph& graph, const Op& op);
Result<Values> expand_attention_grad(Graph& graph, const Op& op);

}  // namespace baleen::ops
