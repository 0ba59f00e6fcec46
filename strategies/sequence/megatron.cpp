/// \file Pins what norms read to shards of the sequence; what lies between two norms and products follows.
#include "megatron.hpp"

#include <string>

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

}  // namespace baleen::sequence_parallel
