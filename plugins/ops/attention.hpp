/// \file What the sources of `attention` give each other.
#pragma once
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {

using namespace sdk;

/// The expansions: S×T scores are made, so these are a reference and not for long sequences.
sdk::Values expand_attention(GraphView& graph, baleen_op_t op);
sdk::Values expand_attention_grad(GraphView& graph, baleen_op_t op);

}  // namespace baleen::ops
