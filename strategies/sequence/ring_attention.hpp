/// \file One attention op, or its gradient, as a ring: blocks of the backend's own attention, merged.
#pragma once
#include "baleen/strategy.hpp"

namespace baleen::sequence_parallel {

/// Puts a local region in place of op `id`, `attention` or `attention_grad`, whose operands lie in equal parts of the
/// sequence along `axis`, balanced where it is causal. Throws Failed where the graph refuses.
void lower_ring_attention(GraphView graph, MeshView mesh, std::uint32_t axis, baleen_op_t id);

}  // namespace baleen::sequence_parallel
