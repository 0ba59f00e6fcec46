/// \file Joins ops with earlier ones whose work they would repeat, as their kinds offer it.
#include <algorithm>
#include <set>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// What depends on an op, and the op.
std::set<OpId> dependents(const Graph& graph, OpId of) {
  std::set<OpId> found{of};
  for (OpId id : graph.ops()) {
    const Ids& inputs = graph.op(id).inputs;
    if (std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) { return found.contains(graph.value(v).producer); }))
      found.insert(id);
  }
  return found;
}

Result<OpId> append(Graph& graph, const Op& later, const Join& join) {
  graph.context() = {later.phase, kNone, later.name, later.where};
  BALEEN_TRY_ASSIGN(const auto made, graph.append(join.kind, join.inputs, join.attributes));
  if (made.size() != join.results.size())
    return internal("the rule join of " + later.kind->name + " puts the " + std::to_string(made.size()) +
                    " results of " + join.kind + " in the place of " + std::to_string(join.results.size()));
  for (std::size_t i = 0; i < made.size(); ++i) BALEEN_TRY(graph.replace(join.results[i], made[i]));
  const OpId joint = graph.value(made[0]).producer;
  graph.op(joint).tags = later.tags;
  graph.op(joint).schedule = later.schedule;
  return joint;
}

/// The joint op stands where the later one stood. What was between the two and needs the earlier one's results comes
/// behind it, and no such op may run in a section that is over by then.
Status replace(Graph& graph, const Op& later, const Join& join, const std::set<OpId>& dependent) {
  BALEEN_TRY_ASSIGN(const OpId joint, append(graph, later, join));
  std::vector<OpId> order, waiting;
  bool before = true;
  for (OpId id : graph.ops()) {
    if (id == joint || id == join.with) continue;
    if (id == later.id) {
      before = false;
      order.push_back(joint);
      order.insert(order.end(), waiting.begin(), waiting.end());
    } else {
      (before && dependent.contains(id) ? waiting : order).push_back(id);
    }
  }
  for (OpId id : dependent) graph.op(id).phase = std::max(graph.op(id).phase, later.phase);
  graph.erase(later.id);
  graph.erase(join.with);
  return graph.reorder(order);
}

}  // namespace

Status join_kinds(Graph& graph) {
  for (OpId id : graph.ops()) {
    const Op op = graph.op(id);
    if (!op.live || !op.kind->join) continue;
    const Join join = op.kind->join(graph, op);
    if (join.with == kNone || graph.op(join.with).schedule->no_fuse) continue;
    const std::set<OpId> dependent = dependents(graph, join.with);
    const bool circle = std::any_of(join.inputs.begin(), join.inputs.end(),
                                    [&](ValueId v) { return dependent.contains(graph.value(v).producer); });
    if (!circle) BALEEN_TRY(replace(graph, op, join, dependent));
  }
  return {};
}

}  // namespace baleen
