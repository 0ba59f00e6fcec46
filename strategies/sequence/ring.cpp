/// \file Offers attention a sequence that stays cut, and lowers what took the offer.
#include "ring.hpp"

#include <string>

#include "baleen/closed_forms.hpp"
#include "baleen/dtype.hpp"
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

std::string text(std::int64_t number) { return std::to_string(number); }

/// Queries and keys of one sequence, in equal parts: what a mask means for parts of it.
Status check_sequence(const Op& op, std::int64_t queries, std::int64_t keys, bool balanced, std::int64_t ranks,
                      std::string_view axis) {
  const std::string name(op.name());
  if (queries != keys && is_causal(op))
    return unsupported(name + ": causal attention of " + text(queries) + " queries to " + text(keys) +
                       " keys; mode = \"ring\" takes as many keys as queries. Take mode = \"ulysses\"");
  const std::int64_t parts = ranks * (balanced ? 2 : 1);
  for (const std::int64_t tokens : {queries, keys}) {
    if (tokens % parts == 0) continue;
    const std::int64_t less = tokens / parts * parts;
    return invalid(name + ": `seq` = " + text(tokens) + " does not divide into " + text(parts) + " equal parts, " +
                   (balanced ? "two" : "one") + " for each of the " + text(ranks) + " ranks along `" +
                   std::string(axis) + "`; make it " + (less > 0 ? text(less) + " or " : "") + text(less + parts) +
                   ", or take mode = \"ulysses\"");
  }
  return {};
}

double bytes(const baleen_value_info_t& value) {
  auto bytes = static_cast<double>(dtype_size(value.dtype));
  for (std::uint32_t dim = 0; dim < value.rank; ++dim) bytes *= static_cast<double>(value.shape[dim]);
  return bytes;
}

}  // namespace

Ring::Ring(std::uint32_t axis, MeshView mesh) : axis_(axis), mesh_(mesh) {}

Status Ring::place(GraphView graph, Placing placing) {
  micro_batches_ = placing.micro_batches();
  const bool balanced = any_causal(graph);
  BALEEN_TRY(cut_inputs(graph, placing, axis_, balanced));
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    const std::int64_t queries = graph.value(op->inputs()[0]).shape[1], keys = graph.value(op->inputs()[1]).shape[1];
    BALEEN_TRY(check_sequence(*op, queries, keys, balanced, mesh_.size(axis_), mesh_.name(axis_)));
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
  baleen_candidate_t offer{};
  offer.size = sizeof(offer);
  offer.op = id;
  offer.exclusive = 1;
  offer.name = abi(kOffer);
  offer.axes = &axis_;
  offer.axis_count = 1;
  offer.inputs = inputs.data();
  offer.outputs = outputs.data();
  offer.bytes = (grad ? 2 : 1) * travelling * (ranks - 1) / ranks;
  placing.add_candidate(offer);
}

/// What other axes do with the operands.
Status Ring::check_layouts(GraphView graph, const Op& op) const {
  const baleen_value_info_t keys = graph.value(op.inputs()[1]);
  const std::int64_t groups = keys.shape[2];
  const baleen_value_info_t queries = graph.value(op.inputs()[0]);
  const std::string name(op.name());
  if (ranks_that_cut(queries, mesh_, 1) != mesh_.size(axis_))
    return unsupported(name + ": another mesh axis than `" + std::string(mesh_.name(axis_)) +
                       "` cuts its sequence too; one ring at a time");
  const std::int64_t ranks = ranks_that_cut(queries, mesh_, 2), heads = queries.shape[2];
  if (heads == groups || (heads % ranks == 0 && groups % ranks == 0)) return {};
  return invalid(name + ": " + text(heads) + " heads that share " + text(groups) +
                 " of keys and values cannot be cut over " + text(ranks) +
                 " ranks: both must divide, so that each rank has the keys of its queries");
}

Status Ring::lower(GraphView graph) {
  const std::uint32_t count = graph.op_count();
  for (baleen_op_t id = 0; id < count; ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    if (graph.tag(id, "offer") != kOffer) continue;
    BALEEN_TRY(check_layouts(graph, *op));
    lower_ring_attention(graph, {mesh_, axis_, micro_batches_}, id);
  }
  return {};
}

/// Keys and values travel in forward, and in backward with their gradients.
void Ring::expect(GraphView graph, Placing placing) const {
  expect_tokens(graph, placing, axis_);
  FormsAlong forms(graph, placing, axis_);
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "attention") continue;
    const std::vector<baleen_value_t> travel{op->inputs()[1], op->inputs()[2]};
    for (const baleen_value_t value : travel)
      forms.sent(value, 3 * forms.part(), "attention: 6 BLH (P - 1)/P (arXiv 2310.01889)");
  }
}

}  // namespace baleen::sequence_parallel
