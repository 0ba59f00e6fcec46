/// \file Which states and parameters of a job lie in an offload store, agreed upon over all of its graphs.
#include <tuple>

#include "compiler/plan/passes.hpp"

namespace baleen {

Status settle_offloaded(std::vector<PersistentSpec>& persistent, const std::vector<PlannedGraph>& graphs) {
  // How far ahead, bytes of a piece, whether the host updates it.
  std::map<std::string, std::tuple<std::uint32_t, std::uint64_t, bool>> outside;
  std::map<std::string, std::string> readers;  // of a state: a graph that is no training step
  for (const PlannedGraph& planned : graphs) {
    const Graph& graph = planned.scheduled.graph;
    const bool updates = planned.role == GraphRole::train || planned.role == GraphRole::learn;
    for (const OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      if (op.outputs.size() != 1 || !op.inputs.empty()) continue;
      const Value& value = graph.value(op.outputs[0]);
      if (const std::uint32_t wanted = value.offloaded_ahead; wanted > 0)
        outside[value.name] =
            std::max(outside[value.name], std::tuple(wanted, value.offloaded_piece, value.updated_on_host));
      else if (value.role == Role::state && !updates)
        readers.emplace(value.name, planned.name);
    }
  }
  for (const auto& [state, reader] : readers)
    if (outside.contains(state))
      return invalid("state `" + state + "` cannot be offloaded: the graph `" + reader +
                     "` reads it, and is no training step; leave the state out of what is offloaded");
  for (PersistentSpec& spec : persistent)
    if (const auto found = outside.find(spec.name); found != outside.end())
      std::tie(spec.offloaded_ahead, spec.offloaded_piece, spec.updated_on_host) = found->second;
  return {};
}

}  // namespace baleen
