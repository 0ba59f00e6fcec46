/// \file Ranks that a micro-batch has no row for.
#include <algorithm>

#include "compiler/plan/passes.hpp"

namespace baleen {

std::string idle_ranks_note(const ScheduledGraph& step) {
  const Graph& graph = step.graph;
  const Mesh& mesh = graph.mesh();
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (!op.inputs.empty() || op.outputs.empty()) continue;
    const Value& input = graph.value(op.outputs[0]);
    if (input.role != Role::input || input.rank() == 0 || input.axis(0) != "batch") continue;
    const std::int64_t rows = input.shape[0] / step.micro_batches;
    std::int64_t parts = 1;
    std::string axes;
    for (std::size_t axis = 0; axis < input.layout.size(); ++axis) {
      if (input.layout[axis].cut() != 0 || mesh.axes[axis].name == kMicroAxis || mesh.axes[axis].size == 1) continue;
      parts *= mesh.axes[axis].size;
      axes += (axes.empty() ? "`" : ", `") + mesh.axes[axis].name + "`";
    }
    if (rows >= parts) continue;
    return "a micro-batch has " + std::to_string(rows) + (rows == 1 ? " row" : " rows") + " for " +
           std::to_string(parts) + " parts of the ranks along " + axes + ", of which " + std::to_string(parts - rows) +
           " only wait; take fewer micro-batches (`gradient_accumulation_steps`), a larger batch, or fewer ranks there";
  }
  return {};
}

}  // namespace baleen
