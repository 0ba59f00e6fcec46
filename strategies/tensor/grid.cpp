/// \file Says how operands lie on the grid and offers SUMMA for products with weights, in the forward pass and for both
/// gradients.
#include "grid.hpp"

#include <algorithm>
#include <set>

#include "closed_forms.hpp"
#include "cut_check.hpp"
#include "summa.hpp"

namespace baleen::tensor_parallel {
namespace {

constexpr const char* kSumma = "summa";

/// An operand's letters that row and col cut.
struct OnGrid {
  char row, col;
};

std::vector<baleen_placement_t> placements(const std::vector<std::string>& operands,
                                           const std::map<std::string, OnGrid>& on_grid, char OnGrid::*axis) {
  std::vector<baleen_placement_t> list;
  for (const std::string& letters : operands)
    list.push_back(shard(static_cast<int>(letters.find(on_grid.at(letters).*axis))));
  return list;
}

/// What matmuls read; of compute copies the parameters.
std::set<baleen_value_t> operands_of_products(GraphView graph) {
  std::set<baleen_value_t> operands;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "matmul") continue;
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    for (const baleen_value_t input : inputs) operands.insert(graph.master_parameter(input));
  }
  return operands;
}

std::string text_of(const Padding& padding) {
  const std::string name = padding.axis.empty() ? "a width" : "`" + padding.axis + "`";
  return "products pad " + name + " with zeros from " + std::to_string(padding.extent) + " to " +
         std::to_string(padding.padded) + ", which changes no number";
}

}  // namespace

Status Grid::rewrite(GraphView graph) {
  set_losses_apart(graph);
  return {};
}

Status Grid::check(GraphView graph) const {
  const std::int64_t depth = depth_ ? mesh_.size(*depth_) : 1;
  BALEEN_TRY(check_inner(graph, inner_axis(mesh_, col_, 2, depth)));
  return check_batch(graph, mesh_.size(row_) * depth, "rows of the grid");
}

Status Grid::place(GraphView graph, Placing placing) {
  micro_batches_ = placing.micro_batches();
  BALEEN_TRY(check(graph));
  placing.allow_sharding(row_, "batch");
  if (depth_) placing.allow_sharding(*depth_, "batch");
  for (const char* name : {"embed", "heads", "ff", "vocab", ""}) placing.allow_sharding(col_, name);
  pin_inputs(graph, placing);
  Cuts cuts;
  cut_tables(graph, placing, cuts);
  cut_weights(graph, placing, cuts);
  expect(graph, placing, cuts, cut_others(graph, placing, cuts));
  return {};
}

void Grid::pin_inputs(GraphView graph, Placing& placing) const {
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_INPUT || !is_batch(value)) continue;
    if (depth_) placing.constrain(id, *depth_, shard(0));
    placing.constrain(id, row_, shard(0));
  }
}

void Grid::use(Placing& placing, baleen_value_t parameter, Cut cut, Cuts& cuts) const {
  if (!cuts.try_emplace(parameter, cut).second) return;
  placing.set_compute_sharding(parameter, row_, shard(cut.row));
  placing.set_compute_sharding(parameter, col_, shard(cut.col));
}

void Grid::cut_tables(GraphView graph, Placing& placing, Cuts& cuts) const {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "embedding") continue;
    const baleen_value_t result = op->outputs()[0], table = graph.master_parameter(op->inputs()[0]);
    const baleen_value_info_t value = graph.value(table);
    if (value.role != BALEEN_ROLE_PARAMETER || value.rank != 2 || value.shape[0] < 2 || value.shape[1] < 2) continue;
    placing.allow_sharding(row_, view(value.axes[0]));
    placing.allow_sharding(col_, view(value.axes[1]));
    use(placing, table, {0, 1}, cuts);
    const baleen_value_info_t rows = graph.value(result);
    if (!is_batch(rows)) continue;
    placing.constrain(result, row_, shard(0));
    placing.constrain(result, col_, shard(static_cast<int>(rows.rank) - 1));
  }
}

void Grid::cut_weights(GraphView graph, Placing& placing, Cuts& cuts) const {
  for (const Product& product : products(graph)) {
    const baleen_value_info_t weight = graph.value(product.parameter);
    if (!cuts.contains(product.parameter)) {
      const auto inner = dimension_to_cut(weight, product.w(), product.inner);
      const auto column = dimension_to_cut(weight, product.w(), product.columns);
      if (!inner || !column) continue;
      for (const int dim : {*inner, *column}) placing.allow_sharding(col_, view(weight.axes[dim]));
      use(placing, product.parameter, {*inner, *column}, cuts);
    }
    offer(graph, placing, product, cuts.at(product.parameter));
  }
}

std::set<baleen_value_t> Grid::cut_others(GraphView graph, Placing& placing, const Cuts& cuts) const {
  std::set<baleen_value_t> cut;
  const std::set<baleen_value_t> multiplied = operands_of_products(graph);
  for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
    const baleen_value_info_t value = graph.value(id);
    if (value.role != BALEEN_ROLE_PARAMETER || value.rank == 0 || value.user_count == 0) continue;
    if (const baleen_value_t parameter = graph.master_parameter(id); parameter != id || cuts.contains(parameter))
      continue;
    // A weight that is too small to be cut in both directions stays whole.
    if (const auto dim = dimension_to_cut(graph, id); dim && !multiplied.contains(id)) {
      placing.set_compute_sharding(id, col_, shard(*dim));
      cut.insert(id);
    }
  }
  return cut;
}

void Grid::expect(GraphView graph, Placing& placing, const Cuts& cuts, const std::set<baleen_value_t>& others) const {
  const auto side = static_cast<double>(mesh_.size(row_)),
             depth = depth_ ? static_cast<double>(mesh_.size(*depth_)) : 1;
  GridShares shares;
  shares.axes = {row_, col_};
  if (depth_) shares.axes.push_back(*depth_);
  std::sort(shares.axes.begin(), shares.axes.end());
  shares.parameter = [&](std::uint32_t axis, baleen_value_t parameter) {
    StateShares one;
    const bool is_cut = axis == row_ ? cuts.contains(parameter)
                                     : axis == col_ && (cuts.contains(parameter) || others.contains(parameter));
    if (is_cut) one.parameter = one.states = one.gradient = one.gradient_left = one.parameter_left = 1 / side;
    return one;
  };
  // Rows by `row` and `depth`, widths by `col`; statistics of rows are not cut by `col`.
  shares.activation = [&](std::uint32_t axis, baleen_value_t id) {
    const baleen_value_info_t value = graph.value(id);
    if (axis == col_) return is_wide(value, mesh_.size(col_)) ? 1 / side : 1;
    return has_axis(value, "batch") ? 1 / (axis == row_ ? side : depth) : 1;
  };
  const std::string_view weights = "1/q^2 of weights, 1/q of vectors (arXiv 2104.05343, 2105.14500)";
  expect_shares(graph, placing, shares, {weights, weights, weights}, "1/(q^2 d), statistics of rows 1/(q d)");
  SentOnGrid sent(graph, placing, shares.axes, side, depth);
  for (const Product& product : products(graph))
    if (const auto cut = cuts.find(product.parameter); cut != cuts.end())
      sent.summa(product, product.w()[static_cast<std::size_t>(cut->second.row)]);
  sent.embeddings(side * side * depth);
  sent.inner_sums(1 / (side * depth));
  for (const baleen_trained_t& trained : placing.trained()) {
    FormsAlong along_row(graph, placing, row_);
    if (!cuts.contains(trained.parameter))
      along_row.sent(trained.gradient, 2 * along_row.part(), "2 gradients (q - 1)/q of vectors");
    if (!depth_) continue;
    FormsAlong along_depth(graph, placing, *depth_);
    along_depth.sent(trained.gradient, 2 * along_depth.part(), "2 gradients (d - 1)/d (arXiv 2105.14500)");
  }
}

void Grid::offer(GraphView graph, Placing& placing, const Product& product, Cut cut) const {
  const auto letter = [&](int dim) { return product.w()[static_cast<std::size_t>(dim)]; };
  const bool upright = product.inner.find(letter(cut.row)) != std::string::npos;
  const char inner = letter(upright ? cut.row : cut.col), column = letter(upright ? cut.col : cut.row);
  if (product.inner.find(inner) == std::string::npos || product.columns.find(column) == std::string::npos) return;
  const baleen_value_t x = graph.op(product.op)->inputs()[1 - product.weight];
  const char row = batch_letter(graph.value(x), product.x(), product.rows);
  const std::map<std::string, OnGrid> on_grid{{product.x(), {row, inner}},
                                              {product.letters.result, {row, column}},
                                              {product.w(), {letter(cut.row), letter(cut.col)}}};
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "matmul" || (id != product.op && graph.info(id).twin != product.op)) continue;
    const Letters letters(op->text("spec"));
    const std::vector<std::string> inputs{letters.inputs[0], letters.inputs[1]}, result{letters.result};
    auto in = placements(inputs, on_grid, &OnGrid::row), out = placements(result, on_grid, &OnGrid::row);
    for (const auto& more : placements(inputs, on_grid, &OnGrid::col)) in.push_back(more);
    for (const auto& more : placements(result, on_grid, &OnGrid::col)) out.push_back(more);
    const std::uint32_t axes[] = {row_, col_};
    baleen_candidate_t made{};
    made.size = sizeof(made);
    made.op = id;
    made.exclusive = 1;
    made.name = abi(kSumma);
    made.axes = axes;
    made.axis_count = 2;
    made.inputs = in.data();
    made.outputs = out.data();
    made.bytes = summa_bytes(graph, id, letter(cut.row), mesh_.size(row_));
    placing.add_candidate(made);
  }
}

Status Grid::lower(GraphView graph) {
  calls_ = {};
  const std::uint32_t count = graph.op_count();
  for (baleen_op_t id = 0; id < count; ++id)
    if (graph.op(id) && graph.tag(id, "owner") == "tensor" && graph.tag(id, "offer") == kSumma)
      BALEEN_TRY(lower_summa(graph, id, {mesh_, row_, col_, micro_batches_}, calls_));
  return {};
}

/// Block k + 1 leaves right before the product of block k, no sooner: a rank has two blocks at a time. A weight's
/// blocks are the same for all micro-batches, and are sent in each rather than kept.
Status Grid::schedule(GraphView graph, Scheduling scheduling) {
  std::map<baleen_op_t, baleen_op_t>
      behind;  // products that share an operand share its blocks, which leave for the first
  for (const SummaStep& step : calls_.steps) {
    const baleen_op_t product = graph.value(step.product).producer;
    if (scheduling.position(product) == BALEEN_NONE) continue;
    for (const baleen_value_t block : step.broadcasts) {
      const auto [it, fresh] = behind.try_emplace(graph.value(block).producer, product);
      if (!fresh && scheduling.position(product) < scheduling.position(it->second)) it->second = product;
    }
  }
  using Calls = std::vector<std::pair<std::uint32_t, baleen_op_t>>;  // as they leave
  const auto keep_four_under_way = [&](Calls calls) {
    std::ranges::sort(calls, {},
                      [&](const auto& one) { return std::pair(one.first, scheduling.position(one.second)); });
    for (std::size_t i = 4; i < calls.size(); ++i)
      if (scheduling.position(calls[i - 4].second) < scheduling.position(calls[i].second))
        scheduling.must_complete_before(calls[i - 4].second, calls[i].second);
  };
  Calls broadcasts, sums;
  for (const auto& [broadcast, product] : behind) {
    scheduling.start_before(broadcast, product);
    scheduling.every_micro_batch(broadcast);
    broadcasts.emplace_back(scheduling.position(product), broadcast);
  }
  // Who sends a block reads nothing of the broadcast, so nothing else says when a gathered weight is no longer needed.
  keep_four_under_way(std::move(broadcasts));
  // A gradient's blocks are read by the update: until then products, and sums that are others', would be kept.
  for (const baleen_value_t sum : calls_.sums)
    if (const baleen_op_t op = graph.value(sum).producer; scheduling.position(op) != BALEEN_NONE)
      sums.emplace_back(scheduling.position(op), op);
  keep_four_under_way(std::move(sums));
  for (const Padding& padding : calls_.paddings) scheduling.note(text_of(padding));
  return {};
}

}  // namespace baleen::tensor_parallel
