/// \file Faults of single values of a graph that has layouts.
#include "baleen/dtype.hpp"
#include "fault.hpp"

namespace baleen::test {
namespace {

/// Ops are wanted in the order of the graph: what runs again stands behind what it is a copy of.
template <class Is>
baleen_op_t find_op(Placed& placed, std::int64_t nth, Is&& is) {
  for (const baleen_op_t id : placed.graph.ordered()) {
    const auto op = placed.graph.op(id);
    if (op->outputs().empty()) continue;
    const baleen_value_t y = op->outputs()[0];
    if (placed.name(y) == placed.fault.of && is(*op) && nth-- == 0) return id;
  }
  return BALEEN_NONE;
}

bool is_of_batch(const baleen_value_info_t& value) {
  const auto is_term = [](const baleen_placement_t& p) {
    return p.kind == BALEEN_PARTIAL_SUM || p.kind == BALEEN_PARTIAL_MAX;
  };
  return is_floating(value.dtype) && value.rank > 0 && view(value.axes[0]) == "batch" &&
         std::none_of(value.layout, value.layout + value.layout_count, is_term);
}

/// The op that sums over the batch what `value` is made of, and which of its operands has the batch.
std::optional<std::pair<baleen_op_t, std::size_t>> sum_over_batch(Placed& placed, baleen_value_t value) {
  const baleen_op_t id = placed.graph.value(value).producer;
  const auto op = placed.graph.op(id);
  const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
  for (std::size_t i = inputs.size(); i-- > 0;)
    if (is_of_batch(placed.graph.value(inputs[i]))) return std::pair(id, i);
  for (const baleen_value_t input : inputs)
    if (placed.graph.info(placed.graph.value(input).producer).phase == BALEEN_PHASE_BACKWARD)
      if (const auto found = sum_over_batch(placed, input)) return found;
  return std::nullopt;
}

/// The rows of one micro-batch, or of all others, times `factor`.
Value masked(Placed& placed, Value x, std::uint32_t compare, std::int64_t micro_batch, double factor) {
  const double rows = static_cast<double>(placed.shape_of(x.id())[0] / placed.fault.micro_batches);
  const std::vector<baleen_instruction_t> code{{BALEEN_X_INPUT, 0, 0, 0, 0},
                                               {BALEEN_X_INDEX, 0, 0, 0, 0},
                                               {BALEEN_X_CONSTANT, 0, 0, 0, rows},
                                               {BALEEN_X_DIV, 1, 2, 0, 0},
                                               {BALEEN_X_FLOOR, 3, 0, 0, 0},
                                               {BALEEN_X_CONSTANT, 0, 0, 0, static_cast<double>(micro_batch)},
                                               {compare, 4, 5, 0, 0},
                                               {BALEEN_X_CONSTANT, 0, 0, 0, factor},
                                               {BALEEN_X_MUL, 0, 7, 0, 0},
                                               {BALEEN_X_SELECT, 6, 8, 0, 0}};
  const Layout layout = placed.layout_of(x.id());
  const auto attributes = AttributeList().expression("expression", code).integer("results", 9);
  return placed.with({placed.graph.table(), placed.graph.append("pointwise", {x.id()}, attributes)}, layout);
}

Value damaged(Placed& placed, Value value, const Layout& layout) {
  const std::string& kind = placed.fault.kind;
  if (kind == "zero") return placed.with(value * 0.0, layout);
  if (kind == "double") return placed.with(value * 2.0, layout);
  if (kind == "halve") return placed.with(value / 2.0, layout);
  return placed.with(cast(placed.with(cast(value, BALEEN_BF16), layout), value.info().dtype), layout);
}

}  // namespace

Status damage_micro_batches(Placed placed, const GradientsByName& gradients) {
  const Fault& fault = placed.fault;
  const auto gradient = gradients.find(fault.of);
  if (gradient == gradients.end()) return invalid("no gradient of `" + fault.of + "`");
  const auto sum = sum_over_batch(placed, gradient->second);
  if (!sum) return invalid("the gradient of `" + fault.of + "` is no sum over the batch");
  const auto [id, place] = *sum;
  std::vector<baleen_value_t> inputs(placed.graph.op(id)->inputs().begin(), placed.graph.op(id)->inputs().end());
  placed.graph.follow(id);
  const Value right{placed.graph.table(), inputs[place]};
  const Value wrong = fault.kind == "last"     ? masked(placed, right, BALEEN_X_NE, fault.micro_batches - 1, 0)
                      : fault.kind == "missed" ? masked(placed, right, BALEEN_X_EQ, fault.nth, 0)
                                               : masked(placed, right, BALEEN_X_EQ, fault.nth, 2);
  inputs[place] = placed.chosen(wrong, right, placed.layout_of(right.id())).id();
  placed.graph.amend(id, inputs);
  return {};
}

Status damage_value(Placed placed) {
  const baleen_op_t id = find_op(placed, placed.fault.nth, [&](const Op& op) {
    const baleen_value_info_t value = placed.graph.value(op.outputs()[0]);
    return !op.has("from") && value.layout_count > 0 && is_floating(value.dtype);
  });
  if (id == BALEEN_NONE) return {};  // not yet: lowered to see what running it again would need
  placed.graph.follow(id);
  const baleen_value_t y = placed.graph.op(id)->outputs()[0];
  const Layout layout = placed.layout_of(y);
  const Value copy = placed.copied(y), right{placed.graph.table(), y};
  placed.graph.redirect(copy.id(), placed.chosen(damaged(placed, right, layout), right, layout).id());
  return {};
}

Status draw_again(Placed placed) {
  const auto is_random = [](const baleen_instruction_t& i) {
    return i.opcode == BALEEN_X_UNIFORM || i.opcode == BALEEN_X_NORMAL;
  };
  const baleen_op_t id = find_op(placed, placed.fault.nth, [&](const Op& op) {
    return op.has("expression") && std::ranges::any_of(op.expression("expression"), is_random);
  });
  if (id == BALEEN_NONE) return {};  // not yet, as above
  const auto op = placed.graph.op(id);
  const std::span<const baleen_instruction_t> old = op->expression("expression");
  std::vector<baleen_instruction_t> code(old.begin(), old.end());
  for (baleen_instruction_t& one : code)
    if (is_random(one)) one.a ^= 1;  // another site
  AttributeList attributes = AttributeList::of(*op);
  attributes.erase("expression").expression("expression", code);
  const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
  const baleen_value_t y = op->outputs()[0];
  placed.graph.follow(id);
  const Layout layout = placed.layout_of(y);
  const Value copy = placed.copied(y), right{placed.graph.table(), y};
  const Value wrong = placed.with({placed.graph.table(), placed.graph.append("pointwise", inputs, attributes)}, layout);
  placed.graph.redirect(copy.id(), placed.chosen(wrong, right, layout).id());
  return {};
}

Status draw_alike(Placed placed) {
  const baleen_op_t id =
      find_op(placed, 0, [](const Op& op) { return op.kind() == "pointwise" && op.outputs().size() == 1; });
  if (id == BALEEN_NONE) return invalid("nothing random is `" + placed.fault.of + "`");
  const AttributeList attributes = AttributeList::of(*placed.graph.op(id));
  const std::vector<baleen_value_t> inputs(placed.graph.op(id)->inputs().begin(), placed.graph.op(id)->inputs().end());
  const baleen_value_t y = placed.graph.op(id)->outputs()[0];
  placed.graph.follow(id);
  std::vector<baleen_value_t> pieces;
  for (const baleen_value_t v : inputs) pieces.push_back(placed.to_local({placed.graph.table(), v}).id());
  const Value local{placed.graph.table(), placed.graph.append("pointwise", pieces, attributes)};
  placed.graph.redirect(y, placed.from_local(local, placed.shape_of(y), placed.layout_of(y)).id());
  return {};
}

Status read_alike(Placed placed) {
  const baleen_value_t rows = placed.find(BALEEN_ROLE_INPUT, placed.fault.of);
  if (rows == BALEEN_NONE) return invalid("no input `" + placed.fault.of + "`");
  placed.graph.follow(placed.graph.value(rows).producer);
  const Value own = placed.to_local({placed.graph.table(), rows});
  const auto attributes = AttributeList().integers("axes", {placed.fault.along}).integer("root", 0);
  const Value first{placed.graph.table(), placed.graph.append("broadcast", {own.id()}, attributes)};
  const Value wrong = placed.from_local(first, placed.shape_of(rows), placed.layout_of(rows));
  placed.graph.redirect(rows, wrong.id(), placed.graph.value(own.id()).producer);
  return {};
}

Status damage_replicas(Placed placed) {
  const baleen_op_t id = placed.assign_of(placed.fault.of);
  if (id == BALEEN_NONE) return invalid("nothing is assigned to `" + placed.fault.of + "`");
  placed.graph.follow(id);
  const std::vector<baleen_value_t> inputs(placed.graph.op(id)->inputs().begin(), placed.graph.op(id)->inputs().end());
  const Value next{placed.graph.table(), inputs[1]};
  const Layout layout = placed.layout_of(next.id()), whole = placed.whole();
  const bool open = placed.fault.open;
  const Value piece = open ? next : placed.to_local(next);
  const Layout inside = open ? layout : whole;
  const Value by = placed.with(placed.rank(next.info().dtype) * 0.001, whole);
  const Value off = placed.with(placed.with(by * placed.when(whole), whole) + 1.0, whole);
  const Value wrong = placed.with(piece * off, inside);
  const Value closed = open ? wrong : placed.from_local(wrong, placed.shape_of(next.id()), layout);
  placed.graph.amend(id, std::vector{inputs[0], closed.id()});
  return {};
}

}  // namespace baleen::test
