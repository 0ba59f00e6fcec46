/// \file What the two forms of a collective share: between layouts of a global value, and inside a local region.
#pragma once
#include "compiler/layout/conversion.hpp"
#include "compiler/ops/rules.hpp"

namespace baleen::ops {

/// `axes` lists one or more mesh axes, ascending.
Status check_mesh_axes(const std::string& kind, const Attributes& attributes);

/// 8 bits have no sums.
Status check_reducible(const std::string& kind, const ValueType& x);

/// The form for values of a local region, which have shapes and no layout: extents change where pieces are joined or
/// cut.
Result<Types> infer_local_collective(CollectiveOp collective, const InferContext& context);
/// The dimensions that a collective of a local region joins or cuts may not be cut otherwise.
Iteration iterate_local_collective(const Graph& graph, const Op& op);

}  // namespace baleen::ops
