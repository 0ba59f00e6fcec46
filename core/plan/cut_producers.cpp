/// \file `take_shard` of a pointwise value becomes a copy of its op that makes just the shard.
#include <algorithm>

#include "core/layout/conversion.hpp"
#include "core/plan/passes.hpp"

namespace baleen {
namespace {

/// Whether the op's inputs hold nothing along a dimension (kFlat: along any), so that a part along it needs no part of
/// them.
bool is_flat_along(const Graph& graph, const Op& op, int dim) {
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
    return graph.value(v).rank() == 0 || (dim != kFlat && graph.value(v).shape[static_cast<std::size_t>(dim)] == 1);
  });
}

bool may_cut(const Graph& graph, const Op& take) {
  const Op* producer = graph.producer(take.inputs[0]);
  if (!producer || !producer->kind->has(kPointwise) || producer->outputs.size() != 1) return false;
  const Layout &before = graph.value(take.inputs[0]).layout, &after = graph.value(take.outputs[0]).layout;
  for (std::size_t axis = 0; axis < after.size(); ++axis) {
    if (before[axis] == after[axis]) continue;
    const auto dim = after[axis].cut();
    if (!dim || !is_flat_along(graph, *producer, *dim)) return false;
  }
  return true;
}

}  // namespace

Status cut_producers(Graph& graph) {
  for (OpId id : graph.ops()) {
    if (graph.op(id).kind->name != to_string(Collective::take_shard) || !may_cut(graph, graph.op(id))) continue;
    const Op take = graph.op(id);
    const Op producer = *graph.producer(take.inputs[0]);
    Attributes attributes = producer.attributes;
    attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(id)}));
    graph.context() = {take.phase, producer.twin, producer.name, producer.where};
    BALEEN_TRY_ASSIGN(const ValueId made, graph.append1(producer.kind->name, producer.inputs, std::move(attributes)));
    graph.value(made).layout = graph.value(take.outputs[0]).layout;
    graph.value(made).role = graph.value(take.inputs[0]).role;
    BALEEN_TRY(graph.redirect(take.outputs[0], made));
  }
  return graph.normalise();
}

}  // namespace baleen
