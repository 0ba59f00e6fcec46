/// \file One attention op, or its gradient, as a ring: blocks of the backend's own attention, merged.
#pragma once
#include "region.hpp"

namespace baleen::sequence_parallel {

/// Puts a local region in place of op `id`, `attention` or `attention_grad`, whose operands lie in equal parts of the
/// sequence around the ring, balanced where it is causal. Throws Failed where the graph refuses.
void lower_ring_attention(GraphView graph, const RingOfRanks& ring, baleen_op_t id);

}  // namespace baleen::sequence_parallel
