/// \file Replaces ops by the fused forms that their kinds offer.
#include "compiler/plan/passes.hpp"

namespace baleen {

Status fuse_kinds(Graph& graph) {
  for (OpId id : graph.ops()) {
    const Op op = graph.op(id);
    if (!op.live || !op.kind->fuse || op.schedule->no_fuse) continue;
    graph.context() = {op.phase, op.forward_op, op.name, op.where};
    BALEEN_TRY_ASSIGN(const auto results, op.kind->fuse(graph, op));
    if (results.empty()) continue;
    for (std::size_t i = 0; i < results.size(); ++i) BALEEN_TRY(graph.redirect(op.outputs[i], results[i]));
  }
  BALEEN_TRY(graph.normalise());
  graph.remove_dead();
  return {};
}

}  // namespace baleen
