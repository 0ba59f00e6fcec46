/// \file Pins what norms read to shards of the sequence; what lies between two norms and products follows.
#include "megatron.hpp"

#include <string>

#include "baleen/closed_forms.hpp"
#include "inputs.hpp"

namespace baleen::sequence_parallel {

Status Megatron::place(GraphView graph, Placing placing) {
  placing.allow_sharding(axis_, "seq");
  bool any = false;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "norm") continue;
    const baleen_value_t residual = op->inputs()[0];
    const auto dim = sequence_dimension(graph.value(residual));
    if (!dim) continue;
    placing.constrain(residual, axis_, shard(*dim));
    any = true;
  }
  if (any) return {};
  return invalid(
      "no norm reads a value with the logical axis `seq`, so there is nothing to cut around the layers along `" +
      std::string(placing.mesh().name(axis_)) + "`; leave mode = \"megatron\" out of the plan");
}

/// Beside what `tensor` says along its axis: rows that it leaves whole are cut, what a column product reads is gathered
/// once more in backward, and gradients of whole parameters are summed.
void Megatron::expect(GraphView graph, Placing placing) const {
  FormsAlong forms(graph, placing, axis_);
  const auto is_inner = [](const baleen_value_info_t& value) {
    return has_axis(value, "heads") || has_axis(value, "ff") || has_axis(value, "vocab");
  };
  forms.activations(
      [&](const auto& value) { return has_axis(value, "seq") && !is_inner(value) ? 1 / forms.ranks() : 1; },
      "1/t of what `tensor` leaves whole (arXiv 2205.05198, table 2)");
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "norm" || graph.info(id).phase != BALEEN_PHASE_FORWARD) continue;
    const baleen_value_t read = op->outputs()[0];
    if (sequence_dimension(graph.value(read)))
      forms.sent(read, forms.part(), "2 bsh (t - 1)/t a layer gathered again, 10 in all (arXiv 2205.05198)");
  }
  for (const baleen_trained_t& trained : placing.trained())
    if (!is_inner(graph.value(trained.parameter)))
      forms.sent(trained.gradient, 2 * forms.part(), "2 gradients (t - 1)/t of whole parameters");
}

}  // namespace baleen::sequence_parallel
