/// \file Walks the forward pass and lays each value on the cube; propagation gathers and scatters.
#include "cube.hpp"

#include <algorithm>
#include <utility>

#include "baleen/strategy_tools.hpp"
#include "closed_forms.hpp"
#include "cut_check.hpp"

namespace baleen::tensor_parallel {

/// One walk over a graph.
class Cube::Walk {
 public:
  Walk(const Cube& cube, GraphView graph, Placing& placing) : cube_(cube), graph_(graph), placing_(placing) {
    for (Product& product : products(graph)) products_.emplace(product.op, std::move(product));
    for (const baleen_trained_t& trained : placing.trained()) trained_[trained.parameter] = trained;
  }

  void run() {
    for (const baleen_op_t id : graph_.ordered()) {
      const auto op = graph_.op(id);
      if (graph_.info(id).phase != BALEEN_PHASE_FORWARD) continue;
      const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end()),
          outputs(op->outputs().begin(), op->outputs().end());
      const bool embeds = op->kind() == "embedding";
      if (inputs.empty() && !outputs.empty()) {
        source(outputs[0]);
      } else if (const auto product = products_.find(id); product != products_.end()) {
        multiply(product->second, outputs[0]);
      } else if (embeds) {
        look_up(graph_.master_parameter(inputs[0]), outputs[0]);
      } else {
        follow(inputs, outputs);
      }
    }
  }

  /// What it costs, in closed form; behind `run`.
  void expect() const {
    const auto side = static_cast<double>(cube_.mesh_.size(cube_.row_));
    GridShares shares;
    shares.axes = {cube_.depth_, cube_.row_, cube_.col_};
    std::sort(shares.axes.begin(), shares.axes.end());
    shares.parameter = [&](std::uint32_t axis, baleen_value_t id) { return of_parameter(axis, id, side); };
    shares.activation = [&](std::uint32_t axis, baleen_value_t id) { return of_activation(axis, id, side); };
    const std::string_view weights = "1/q^3 of weights, 1/q of vectors (arXiv 2105.14450)";
    expect_shares(graph_, placing_, shares, {weights, weights, "with micro-batches 1/q^2 of weights, until the update"},
                  "1/q^3, statistics of rows 1/q^2");
    SentOnGrid sent(graph_, placing_, shares.axes, side, 1);
    for (const auto& [op, product] : products_)
      if (cuts_.contains(product.parameter)) sent.cube(product);
    sent.embeddings(side * side * side);
    sent.inner_sums(1 / (side * side));
  }

 private:
  StateShares of_parameter(std::uint32_t axis, baleen_value_t id, double side) const {
    StateShares one;
    const auto vector = vectors_.find(id);
    one.gradient_known = placing_.micro_batches() > 1;
    if (!cuts_.contains(id) && (vector == vectors_.end() || vector->second != axis)) return one;
    one.parameter = one.states = one.gradient = one.gradient_left = one.parameter_left = 1 / side;
    if (axis == cube_.depth_) one.gradient = 1;  // added up whole
    return one;
  }

  double of_activation(std::uint32_t axis, baleen_value_t id, double side) const {
    const baleen_value_info_t value = graph_.value(id);
    const Width width = width_of(id);
    const bool is_wide_axis = axis != cube_.depth_ && width != Width::none && axis == this->axis(width);
    if (is_wide_axis) return is_wide(value, cube_.mesh_.size(axis)) ? 1 / side : 1;
    return has_axis(value, "batch") && (axis == cube_.depth_ || width != Width::none) ? 1 / side : 1;
  }

  std::uint32_t axis(Width width) const { return width == Width::row ? cube_.row_ : cube_.col_; }
  static Width other(Width width) { return width == Width::row ? Width::col : Width::row; }

  void source(baleen_value_t id) {
    const baleen_value_info_t value = graph_.value(id);
    if (value.role == BALEEN_ROLE_PARAMETER) root_[id] = id;
    if (value.role != BALEEN_ROLE_INPUT || !is_batch(value)) return;
    width_[id] = Width::col;
    lay(id, Width::col, 0, std::nullopt);
  }

  /// The batch by depth and one axis, the width by the other.
  void lay(baleen_value_t id, Width width, int batch, std::optional<int> wide) {
    placing_.constrain(id, cube_.depth_, shard(batch));
    placing_.constrain(id, axis(other(width)), shard(batch));
    if (wide) placing_.constrain(id, axis(width), shard(*wide));
  }

  Width width_of(baleen_value_t id) const {
    const auto found = width_.find(id);
    return found == width_.end() ? Width::none : found->second;
  }

  /// The parameter is used cut in two dimensions; between steps depth cuts it too.
  void cut(baleen_value_t parameter, int by_row, int by_col) {
    if (!cuts_.try_emplace(parameter, std::pair(by_row, by_col)).second) return;
    placing_.set_compute_sharding(parameter, cube_.row_, shard(by_row));
    placing_.set_compute_sharding(parameter, cube_.col_, shard(by_col));
    std::vector<baleen_value_t> stored{parameter};
    const baleen_value_info_t value = graph_.value(parameter);
    for (const std::uint32_t axis : {cube_.row_, cube_.col_})
      for (const int dim : {by_row, by_col}) placing_.allow_sharding(axis, view(value.axes[dim]));
    const int longer = value.shape[by_row] >= value.shape[by_col] ? by_row : by_col;
    if (const auto it = trained_.find(parameter); it != trained_.end())
      for (std::uint64_t s = 0; s < it->second.state_count; ++s)
        if (graph_.value(it->second.states[s]).rank == value.rank) stored.push_back(it->second.states[s]);
    for (const baleen_value_t id : stored) {
      placing_.set_storage_sharding(id, cube_.row_, shard(by_row));
      placing_.set_storage_sharding(id, cube_.col_, shard(by_col));
      placing_.set_storage_sharding(id, cube_.depth_, shard(longer));
    }
  }

  void multiply(const Product& product, baleen_value_t result) {
    const auto op = graph_.op(product.op);
    const baleen_value_t x = op->inputs()[1 - product.weight];
    const baleen_value_info_t weight = graph_.value(product.parameter);
    const auto inner = dimension_to_cut(weight, product.w(), product.inner);
    const auto column = dimension_to_cut(weight, product.w(), product.columns);
    if (!inner || !column || width_of(x) == Width::none) {
      width_[result] = width_of(x);
      return;
    }
    if (width_of(x) == Width::col)
      cut(product.parameter, *column, *inner);
    else
      cut(product.parameter, *inner, *column);
    // A weight that stands in two products has the cut of the first.
    const auto& [by_row, by_col] = cuts_.at(product.parameter);
    const auto is_column = [&](int dim) {
      return product.columns.find(product.w()[static_cast<std::size_t>(dim)]) != std::string::npos;
    };
    const Width made = is_column(by_row) ? Width::row : Width::col;
    width_[result] = made;
    const char wide = product.w()[static_cast<std::size_t>(made == Width::row ? by_row : by_col)];
    const char batch = batch_letter(graph_.value(x), product.x(), product.rows);
    const auto at = [](const std::string& letters, char letter) { return static_cast<int>(letters.find(letter)); };
    lay(result, made, at(product.letters.result, batch), at(product.letters.result, wide));
    const char narrow = product.w()[static_cast<std::size_t>(made == Width::row ? by_col : by_row)];
    lay_gradient(product, other(made), at(product.x(), batch), at(product.x(), narrow));
  }

  /// The gradient of an input lies as the input.
  void lay_gradient(const Product& product, Width width, int batch, int wide) {
    for (baleen_op_t id = product.op; id < graph_.op_count(); ++id) {
      const auto op = graph_.op(id);
      if (!op || op->kind() != "matmul" || graph_.info(id).twin != product.op) continue;
      if (Letters(op->text("spec")).result == product.x()) lay(op->outputs()[0], width, batch, wide);
    }
  }

  void look_up(baleen_value_t table, baleen_value_t result) {
    width_[result] = Width::col;
    const baleen_value_info_t value = graph_.value(table), rows = graph_.value(result);
    if (value.role != BALEEN_ROLE_PARAMETER || value.rank != 2 || value.shape[0] < 2 || value.shape[1] < 2) return;
    cut(table, 0, 1);
    if (is_batch(rows)) lay(result, Width::col, 0, static_cast<int>(rows.rank) - 1);
  }

  /// A result lies as the first operand that lies anyhow; parameters that come in are cut along its width.
  void follow(const std::vector<baleen_value_t>& inputs, const std::vector<baleen_value_t>& outputs) {
    Width width = Width::none;
    std::vector<baleen_value_t> roots;
    for (const baleen_value_t input : inputs) {
      if (width == Width::none) width = width_of(input);
      if (const auto it = root_.find(input); it != root_.end()) roots.push_back(it->second);
    }
    for (const baleen_value_t output : outputs) {
      if (width != Width::none) width_[output] = width;
      if (width == Width::none && inputs.size() == 1 && roots.size() == 1) root_[output] = roots[0];
    }
    if (width == Width::none) return;
    for (const baleen_value_t root : roots) cut_along(root, width);
  }

  /// Biases, scales, positions.
  void cut_along(baleen_value_t parameter, Width width) {
    if (cuts_.contains(parameter) || !seen_.insert(parameter).second) return;
    if (const auto dim = dimension_to_cut(graph_, parameter)) {
      placing_.set_compute_sharding(parameter, axis(width), shard(*dim));
      vectors_[parameter] = axis(width);
    }
  }

  const Cube& cube_;
  GraphView graph_;
  Placing& placing_;
  std::map<baleen_op_t, Product> products_;
  std::map<baleen_value_t, baleen_trained_t> trained_;
  std::map<baleen_value_t, Width> width_;
  std::map<baleen_value_t, baleen_value_t> root_;  ///< the parameter that a value is a view of
  std::map<baleen_value_t, std::pair<int, int>> cuts_;
  std::set<baleen_value_t> seen_;
  std::map<baleen_value_t, std::uint32_t> vectors_;  ///< parameters that one axis cuts
};

Status Cube::rewrite(GraphView graph) {
  set_losses_apart(graph);
  return {};
}

Status Cube::place(GraphView graph, Placing placing) {
  BALEEN_TRY(check_inner(graph, inner_axis(mesh_, col_, 3)));
  BALEEN_TRY(check_batch(graph, mesh_.size(depth_) * mesh_.size(row_), "rows of the cube"));
  placing.allow_sharding(depth_, "batch");
  for (const std::uint32_t axis : {row_, col_})
    for (const char* name : {"batch", "embed", "heads", "ff", "vocab", ""}) placing.allow_sharding(axis, name);
  Walk walk(*this, graph, placing);
  walk.run();
  walk.expect();
  return {};
}

Status Cube::schedule(GraphView graph, Scheduling scheduling) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "all_gather" || !op->has("from") || graph.info(id).phase == BALEEN_PHASE_UPDATE) continue;
    const auto axes = op->integers("axes");
    const baleen_value_info_t value = graph.value(op->inputs()[0]);
    if (axes.size() == 1 && axes[0] == depth_ && value.role == BALEEN_ROLE_PARAMETER) scheduling.every_micro_batch(id);
  }
  // With one micro-batch a gradient is whole along `depth` until its reduction is over, which need not wait for the
  // update. With more it is added up whole.
  const auto reductions = list_collectives(graph, scheduling, "reduce_scatter", depth_, BALEEN_ROLE_GRADIENT);
  if (scheduling.micro_batches() == 1) {
    bound_in_flight(scheduling, buckets_of(reductions, 0));  // each alone
    return {};
  }
  std::uint64_t held = 0;
  for (const ListedCollective& one : reductions) held += one.bytes - one.bytes / mesh_.size(depth_);
  if (held >> 20 > 0)
    scheduling.note("gradients of weights are added up over micro-batches before they are reduced along `" +
                    std::string(mesh_.name(depth_)) + "`: a rank holds " + std::to_string(held >> 20) +
                    " MiB more of them than with one micro-batch");
  return {};
}

}  // namespace baleen::tensor_parallel
