/// \file A step of a conversion as an op.
#pragma once
#include "core/graph/graph.hpp"
#include "core/layout/conversion.hpp"

namespace baleen {

/// Appends the collective in the graph's context; its result lies as the step says.
Result<ValueId> append_step(Graph& graph, ValueId value, const Step& step, bool every_micro_batch);

}  // namespace baleen
