/// \file Offers attention a sequence that stays cut, and lowers what took the offer.
#include "ring.hpp"

#include <string>

#include "inputs.hpp"
#include "region.hpp"
#include "ring_attention.hpp"

namespace baleen::sequence_parallel {
namespace {

constexpr std::string_view kOffer = "ring";

bool is_attention(const Op& op) { return op.kind() == "attention" || op.kind() == "attention_grad"; }
bool is_causal(const Op& op) { return op.integer("causal", 0) != 0; }

bool any_causal(GraphView graph) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && is_attention(*op) && is_causal(*op)) return true;
  return false;
}

/// Queries and keys of one sequence: what a causal mask means for cut ones.
Status check_square(const Op& op, std::int64_t queries, std::int64_t keys) {
  if (queries == keys || !is_causal(op)) return {};
  return unsupported(std::string(op.name()) + ": causal attention of " + std::to_string(queries) + " queries to " +
                     std::to_string(keys) +
                     " keys; mode = \"ring\" takes as many keys as queries. Take mode = \"ulysses\"");
}

double bytes(const baleen_value_info_t& value) {
  double bytes = value.dtype == BALEEN_F64 ? 8 : 4;
  for (std::uint32_t dim = 0; dim < value.rank; ++dim) bytes *= static_cast<double>(value.shape[dim]);
  return bytes;
}

}  // namespace

Ring::Ring(std::uint32_t axis, MeshView mesh) : axis_(axis), mesh_(mesh) {}

Status Ring::place(GraphView graph, Placing placing) {
  const bool balanced = any_causal(graph);
  BALEEN_TRY(cut_inputs(graph, placing, axis_, balanced));
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    BALEEN_TRY(check_square(*op, graph.value(op->inputs()[0]).shape[1], graph.value(op->inputs()[1]).shape[1]));
    offer(graph, *op, id, balanced, placing);
  }
  return {};
}

void Ring::offer(GraphView& graph, const Op& op, baleen_op_t id, bool balanced, Placing& placing) const {
  const auto cut = [&](int dim) { return balanced ? shard_balanced(dim) : shard(dim); };
  const bool grad = op.kind() == "attention_grad";
  std::vector<baleen_placement_t> inputs(op.inputs().size(), cut(1)), outputs(op.outputs().size(), cut(1));
  (grad ? inputs[inputs.size() - 2] : outputs[1]) = cut(2);  // lse is [batch, heads, seq]
  const double travelling = bytes(graph.value(op.inputs()[1])) + bytes(graph.value(op.inputs()[2]));
  const auto ranks = static_cast<double>(mesh_.size(axis_));
  baleen_offer_t offer{};
  offer.size = sizeof(offer);
  offer.op = id;
  offer.only = 1;
  offer.name = abi(kOffer);
  offer.axes = &axis_;
  offer.axis_count = 1;
  offer.inputs = inputs.data();
  offer.outputs = outputs.data();
  offer.bytes = (grad ? 2 : 1) * travelling * (ranks - 1) / ranks;
  placing.offer(offer);
}

Status Ring::lower(GraphView graph) {
  const std::uint32_t count = graph.op_count();
  for (baleen_op_t id = 0; id < count; ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    const baleen_graph_t* table = graph.table();
    if (view(table->tag(table->self, id, abi("offer"))) != kOffer) continue;
    BALEEN_TRY(check_even(op->name(), graph.value(op->inputs()[0]), mesh_));
    BALEEN_TRY(check_even(op->name(), graph.value(op->inputs()[1]), mesh_));
    lower_ring_attention(graph, mesh_, axis_, id);
  }
  return {};
}

}  // namespace baleen::sequence_parallel
