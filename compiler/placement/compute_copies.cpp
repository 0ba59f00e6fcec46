/// \file Settles the compute copies of parameters after the strategies' rewriting.
#include "compiler/placement/passes.hpp"

namespace baleen {
namespace {

bool is_source(const Op& op) { return op.inputs.empty() && op.kind->has(kStructural); }

Status settle(Graph& graph, const Op& op) {
  const bool whole = op.kind->has(kPointwise) && op.inputs.size() == 1 && op.outputs.size() == 1;
  const Op* source = whole ? graph.producer(op.inputs[0]) : nullptr;
  if (!source || !is_source(*source) || graph.value(op.inputs[0]).role != Role::parameter)
    return invalid(op.name + ": a compute copy of a parameter is a pointwise op that reads this parameter alone",
                   op.where);
  const Value& parameter = graph.value(op.inputs[0]);
  Value& copy = graph.value(op.outputs[0]);
  if (copy.shape != parameter.shape)
    return invalid(
        op.name + ": a compute copy of `" + parameter.name + "` has its shape, " + to_string(parameter.shape),
        op.where);
  copy.role = Role::parameter;
  copy.name = parameter.name;
  copy.axes = parameter.axes;
  return {};
}

}  // namespace

Status settle_compute_copies(Graph& graph) {
  std::vector<OpId> sources, copies, others;
  for (OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (is_compute_copy(op)) BALEEN_TRY(settle(graph, op));
    (is_compute_copy(op) ? copies : is_source(op) ? sources : others).push_back(id);
  }
  if (copies.empty()) return {};
  for (const auto* list : {&copies, &others}) sources.insert(sources.end(), list->begin(), list->end());
  return graph.reorder(sources);
}

ValueId master_parameter(const Graph& graph, ValueId value) {
  const Op* producer = graph.producer(value);
  return producer && is_compute_copy(*producer) ? producer->inputs[0] : value;
}

}  // namespace baleen
