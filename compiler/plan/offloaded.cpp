/// \file Which states and parameters of a job lie in an offload store, agreed upon over all of its graphs.
#include "compiler/plan/passes.hpp"

namespace baleen {

Status settle_offloaded(std::vector<PersistentSpec>& persistent, const std::vector<PlannedGraph>& graphs) {
  std::map<std::string, std::uint32_t> ahead;
  std::map<std::string, std::uint64_t> pieces;
  std::map<std::string, std::string> readers;  // of a state: a graph that is no training step
  for (const PlannedGraph& planned : graphs) {
    const Graph& graph = planned.scheduled.graph;
    const bool updates = planned.role == GraphRole::train || planned.role == GraphRole::learn;
    for (const OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      if (op.outputs.size() != 1 || !op.inputs.empty()) continue;
      const Value& value = graph.value(op.outputs[0]);
      if (const std::uint32_t wanted = value.offloaded_ahead; wanted > 0)
        ahead[value.name] = std::max(ahead[value.name], wanted), pieces[value.name] = value.offloaded_piece;
      else if (value.role == Role::state && !updates)
        readers.emplace(value.name, planned.name);
    }
  }
  for (const auto& [state, reader] : readers)
    if (ahead.contains(state))
      return invalid("state `" + state + "` cannot be offloaded: the graph `" + reader +
                     "` reads it, and is no training step; leave the state out of what is offloaded");
  for (PersistentSpec& spec : persistent)
    if (const auto found = ahead.find(spec.name); found != ahead.end()) {
      spec.offloaded_ahead = found->second;
      spec.offloaded_piece = pieces[spec.name];
    }
  return {};
}

}  // namespace baleen
