/// \file A step of a conversion as an op.
#pragma once
#include "compiler/graph/graph.hpp"
#include "compiler/layout/conversion.hpp"

namespace baleen {

/// Appends the collective in the graph's context; its result lies as the step says.
Result<ValueId> append_step(Graph& graph, ValueId value, const Step& step, bool every_micro_batch);

}  // namespace baleen
