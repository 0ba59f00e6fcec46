/// \file Which states of a job lie in an offload store, agreed upon over all of its graphs.
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// Calls visit(source op, its value) for every state that a graph reads or assigns.
template <class Visit>
Status for_each_state(const Graph& graph, Visit&& visit) {
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.outputs.size() != 1 || !op.inputs.empty()) continue;
    if (const Value& value = graph.value(op.outputs[0]); value.role == Role::state) BALEEN_TRY(visit(op, value));
  }
  return {};
}

bool updates(const PlannedGraph& planned) {
  return planned.role == GraphRole::train || planned.role == GraphRole::learn;
}

}  // namespace

Status settle_offloaded(std::vector<PersistentSpec>& persistent, const std::vector<PlannedGraph>& graphs) {
  std::map<std::string, std::uint32_t> ahead;
  for (const PlannedGraph& planned : graphs)
    BALEEN_TRY(for_each_state(planned.scheduled.graph, [&](const Op& op, const Value& value) -> Status {
      if (const auto wanted = op.schedule->offloaded_ahead) ahead[value.name] = std::max(ahead[value.name], *wanted);
      return {};
    }));
  if (ahead.empty()) return {};
  for (const PlannedGraph& planned : graphs)
    BALEEN_TRY(for_each_state(planned.scheduled.graph, [&](const Op& op, const Value& value) -> Status {
      if (!ahead.contains(value.name) || op.schedule->offloaded_ahead || updates(planned)) return {};
      return invalid("state `" + value.name + "` cannot be offloaded: the graph `" + planned.name +
                     "` reads it, and is no training step; leave the state out of what is offloaded");
    }));
  for (PersistentSpec& spec : persistent)
    if (const auto found = ahead.find(spec.name); found != ahead.end()) spec.offloaded_ahead = found->second;
  return {};
}

}  // namespace baleen
