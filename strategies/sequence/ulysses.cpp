/// \file Offers attention, as its only candidate, its heads in shards; propagation turns the sequence into heads and
/// back.
#include "ulysses.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "baleen/closed_forms.hpp"
#include "inputs.hpp"

namespace baleen::sequence_parallel {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

bool is_attention(const Op& op) { return op.kind() == "attention" || op.kind() == "attention_grad"; }

/// The divisor of `number` next to `wanted`, the smaller of two.
std::int64_t nearest_divisor(std::int64_t number, std::int64_t wanted) {
  std::int64_t best = 1;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0 && std::abs(d - wanted) < std::abs(best - wanted)) best = d;
  return best;
}

/// `number` rounded to a multiple of `ranks`, at least one.
std::int64_t nearest_multiple(std::int64_t number, std::int64_t ranks) {
  return std::max<std::int64_t>(1, (number + ranks / 2) / ranks) * ranks;
}

/// Along one axis, of every operand and result of an attention op. The innermost cut of the heads, so that another
/// axis which cuts them too (tensor parallelism) may keep its part while this one goes from the sequence to heads.
struct Heads {
  explicit Heads(const Op& op) {
    const baleen_placement_t four{BALEEN_SHARD, 2, 1}, three{BALEEN_SHARD, 1, 1};
    const bool grad = op.kind() == "attention_grad";
    inputs = {four, four, four};
    if (op.inputs().size() == (grad ? 8u : 5u)) inputs.insert(inputs.end(), {replicate(), replicate()});
    if (grad) inputs.insert(inputs.end(), {four, three, four});
    outputs = grad ? std::vector{four, four, four} : std::vector{four, three};
  }
  std::vector<baleen_placement_t> inputs, outputs;
};

/// Refuses heads that `ranks` cannot share. Heads with keys of their own go in blocks of ceil(heads / ranks); a rank
/// with grouped ones needs their keys.
Status check_heads(std::string_view name, std::int64_t heads, std::int64_t groups, std::int64_t ranks,
                   const std::string& along) {
  const std::string where = "the " + text(ranks) + " ranks along " + along;
  const auto or_ranks = [](std::int64_t count) { return count > 1 ? text(count) + " ranks, " : std::string(); };
  if (heads == groups && heads < ranks)
    return invalid(std::string(name) + ": " + text(heads) + " heads cannot be shared by " + where + "; take " +
                   text(ranks) + " heads, " + or_ranks(heads) + "or mode = \"ring\", which keeps heads whole");
  if (heads == groups || (heads % ranks == 0 && groups % ranks == 0)) return {};
  const std::int64_t group_count = nearest_multiple(groups, ranks), head_count = nearest_multiple(heads, group_count);
  return invalid(std::string(name) + ": " + text(heads) + " heads that share " + text(groups) +
                 " of keys and values cannot be shared by " + where +
                 ": both must divide, so that each rank has the keys of its queries; take heads = " + text(head_count) +
                 " and kv_heads = " + text(group_count) + ", " +
                 or_ranks(nearest_divisor(std::gcd(heads, groups), ranks)) +
                 "or mode = \"ring\", which keeps heads whole");
}

}  // namespace

Ulysses::Ulysses(std::uint32_t axis, MeshView mesh) : axis_(axis), mesh_(mesh) {}

Status Ulysses::place(GraphView graph, Placing placing) {
  BALEEN_TRY(cut_inputs(graph, placing, axis_, false));
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    const std::int64_t heads = graph.value(op->inputs()[0]).shape[2], groups = graph.value(op->inputs()[1]).shape[2];
    BALEEN_TRY(check_heads(op->name(), heads, groups, mesh_.size(axis_), "`" + std::string(mesh_.name(axis_)) + "`"));
    offer_heads(*op, id, placing);
    if (op->kind() == "attention_grad")  // back to the sequence before anything else is done with them
      for (const baleen_value_t gradient : op->outputs()) placing.constrain(gradient, axis_, shard(1));
  }
  return {};
}

Status Ulysses::lower(GraphView graph) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || !is_attention(*op)) continue;
    const std::int64_t groups = graph.value(op->inputs()[1]).shape[2];
    const baleen_value_info_t queries = graph.value(op->inputs()[0]);
    std::int64_t ranks = 1;
    std::string along;
    for (std::uint32_t axis = 0; axis < queries.layout_count && axis < mesh_.count(); ++axis) {
      const baleen_placement_t& placement = queries.layout[axis];
      if (placement.kind != BALEEN_SHARD || placement.argument != 2) continue;
      ranks *= mesh_.size(axis);
      along += (along.empty() ? "`" : " and `") + std::string(mesh_.name(axis)) + "`";
    }
    BALEEN_TRY(check_heads(op->name(), queries.shape[2], groups, ranks, along));
  }
  return {};
}

void Ulysses::offer_heads(const Op& op, baleen_op_t id, Placing& placing) const {
  const Heads heads(op);
  baleen_candidate_t offer{};
  offer.size = sizeof(offer);
  offer.op = id;
  offer.exclusive = 1;
  offer.run_unmodified = 1;
  offer.name = abi("heads");
  offer.axes = &axis_;
  offer.axis_count = 1;
  offer.inputs = heads.inputs.data();
  offer.outputs = heads.outputs.data();
  placing.add_candidate(offer);
}

/// Of queries, keys, values and the result, a rank's tokens go to other ranks' heads and back, forward and backward.
void Ulysses::expect(GraphView graph, Placing placing) const {
  expect_tokens(graph, placing, axis_);
  FormsAlong forms(graph, placing, axis_);
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "attention") continue;
    const std::vector<baleen_value_t> moved{op->inputs()[0], op->inputs()[1], op->inputs()[2], op->outputs()[0]};
    for (const baleen_value_t value : moved)
      forms.sent(value, 2 * forms.part() / forms.ranks(), "attention: 8 BLH (P - 1)/P^2 (arXiv 2309.14509)");
  }
}

}  // namespace baleen::sequence_parallel
