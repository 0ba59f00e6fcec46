/// \file Another cut of a pointwise value becomes a copy of its op that makes it so, where that needs no other part of
/// its inputs.
#include <algorithm>

#include "compiler/layout/conversion.hpp"
#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// Whether the op's inputs hold nothing along a dimension (kFlat: along any), so that a part along it needs no part of
/// them.
bool is_flat_along(const Graph& graph, const Op& op, int dim) {
  return std::all_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) {
    return graph.value(v).rank() == 0 || (dim != kFlat && graph.value(v).shape[static_cast<std::size_t>(dim)] == 1);
  });
}

bool draws_numbers(const Op& op) {
  const auto& code = op.attributes.expression("expression").code;
  return std::any_of(code.begin(), code.end(), [](const baleen_instruction_t& i) {
    return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL;
  });
}

/// Elements of a flat shard beneath other cuts have no global index that a kernel could tell.
bool hides_indices(const Layout& layout) {
  const auto flat = [](const Placement& p) { return p.cut() == kFlat; };
  const auto cut = [](const Placement& p) { return p.cut().has_value(); };
  return std::any_of(layout.begin(), layout.end(), flat) && std::count_if(layout.begin(), layout.end(), cut) > 1;
}

bool moves_parts(const Op& op) {
  const auto is = [&](CollectiveOp collective) { return op.kind->name == to_string(collective); };
  return op.attributes.has("from") &&
         (is(CollectiveOp::take_shard) || is(CollectiveOp::all_to_all) || is(CollectiveOp::all_gather));
}

bool may_cut(const Graph& graph, const Op& conversion) {
  const Op* producer = graph.producer(conversion.inputs[0]);
  if (!producer || !producer->kind->has(kPointwise) || producer->outputs.size() != 1) return false;
  const Layout &before = graph.value(conversion.inputs[0]).layout, &after = graph.value(conversion.outputs[0]).layout;
  if (hides_indices(after) && draws_numbers(*producer)) return false;
  for (std::size_t axis = 0; axis < after.size(); ++axis) {
    if (before[axis] == after[axis]) continue;
    for (const Placement& p : {before[axis], after[axis]})
      if (const auto dim = p.cut(); dim && !is_flat_along(graph, *producer, *dim)) return false;
  }
  return true;
}

}  // namespace

Status cut_producers(Graph& graph) {
  for (OpId id : graph.ops()) {
    if (!moves_parts(graph.op(id)) || !may_cut(graph, graph.op(id))) continue;
    const Op take = graph.op(id);
    const Op producer = *graph.producer(take.inputs[0]);
    Attributes attributes = producer.attributes;
    attributes.set("copy", Attributes::ints({static_cast<std::int64_t>(id)}));
    graph.context() = {take.phase, producer.forward_op, producer.name, producer.where};
    BALEEN_TRY_ASSIGN(const ValueId made, graph.append1(producer.kind->name, producer.inputs, std::move(attributes)));
    graph.value(made).layout = graph.value(take.outputs[0]).layout;
    graph.value(made).role = graph.value(take.inputs[0]).role;
    BALEEN_TRY(graph.redirect(take.outputs[0], made));
  }
  return graph.normalise();
}

}  // namespace baleen
