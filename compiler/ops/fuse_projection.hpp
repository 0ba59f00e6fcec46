/// \file The fused form of a loss over a projection.
#pragma once
#include "compiler/graph/graph.hpp"

namespace baleen {

/// cross_entropy(x·w, target) becomes linear_cross_entropy(x, w, target) where nobody else reads the logits, so that
/// they are never held as a whole. Returns its results, or an empty list. (OpKind::fuse of `cross_entropy`)
Result<std::vector<ValueId>> fuse_projection(Graph& graph, const Op& op);

}  // namespace baleen
