/// \file Finds products and the dimensions to cut.
#include "product.hpp"

#include <set>

#include "cut_check.hpp"

namespace baleen::tensor_parallel {
namespace {

bool holds(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

bool is_weight(const baleen_value_info_t& value) { return value.role == BALEEN_ROLE_PARAMETER && value.rank >= 2; }

void sort_letters(Product& product) {
  for (char c : product.x()) {
    if (holds(product.letters.result, c) && !holds(product.w(), c)) product.rows += c;
    if (!holds(product.letters.result, c)) product.inner += c;
  }
  for (char c : product.w())
    if (holds(product.letters.result, c) && !holds(product.x(), c)) product.columns += c;
}

/// The higher the better; 0 for a dimension that cannot be cut.
int preference(const baleen_value_info_t& value, std::size_t dim) {
  if (value.shape[dim] < 2) return 0;
  const std::string_view name = view(value.axes[dim]);
  return is_inner(name) ? 3 : name == "embed" ? 2 : 1;
}

}  // namespace

Letters::Letters(std::string_view spec) {
  const auto comma = spec.find(','), arrow = spec.find("->");
  inputs = {std::string(spec.substr(0, comma)), std::string(spec.substr(comma + 1, arrow - comma - 1))};
  result = spec.substr(arrow + 2);
}

baleen_value_t before_cast(GraphView& graph, baleen_value_t operand) {
  const baleen_op_t producer = graph.value(operand).producer;
  return graph.tag(producer, "fp8") == "operand" ? graph.op(producer)->inputs()[0] : operand;
}

baleen_value_t behind_scales(GraphView& graph, baleen_value_t result) {
  const baleen_value_info_t value = graph.value(result);
  const bool is_scaled = value.user_count == 1 && graph.tag(value.users[0], "fp8") == "result";
  return is_scaled ? graph.op(value.users[0])->outputs()[0] : result;
}

std::vector<Product> products(GraphView graph) {
  std::vector<Product> found;
  std::set<baleen_value_t> multiplied;  // by another weight: that product is of no batch, and no mode cuts it
  for (const baleen_op_t id : graph.ordered()) {
    const auto op = graph.op(id);
    if (op->kind() != "matmul" || op->inputs().size() != 2) continue;
    if (graph.info(id).phase != BALEEN_PHASE_FORWARD) continue;
    Product product{id, Letters(op->text("spec")), 1, BALEEN_NONE, {}, {}, {}};
    const std::array read{op->inputs()[0], op->inputs()[1]};
    const std::array operands{before_cast(graph, read[0]), before_cast(graph, read[1])};
    const bool first = is_weight(graph.value(operands[0])), second = is_weight(graph.value(operands[1]));
    if (first && second)
      for (const baleen_value_t weight : operands) multiplied.insert(graph.master_parameter(weight));
    if (first == second) continue;
    product.weight = second ? 1 : 0;
    product.parameter = graph.master_parameter(operands[product.weight]);
    sort_letters(product);
    if (!product.rows.empty() && !product.inner.empty() && !product.columns.empty())
      found.push_back(std::move(product));
  }
  std::erase_if(found, [&](const Product& product) { return multiplied.contains(product.parameter); });
  return found;
}

std::optional<int> dimension_to_cut(const baleen_value_info_t& value, const std::string& letters,
                                    const std::string& among) {
  std::optional<std::size_t> best;
  for (std::size_t dim = 0; dim < letters.size(); ++dim) {
    const int own = holds(among, letters[dim]) ? preference(value, dim) : 0;
    if (own == 0) continue;
    const int least = best ? preference(value, *best) : 0;
    if (own > least || (own == least && value.shape[dim] > value.shape[*best])) best = dim;
  }
  return best ? std::optional(static_cast<int>(*best)) : std::nullopt;
}

std::optional<int> dimension_to_cut(GraphView graph, baleen_value_t parameter) {
  const baleen_value_info_t value = graph.value(parameter);
  const std::string all = std::string("abcdefgh").substr(0, value.rank);
  std::string among = all;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || !op->has("dim")) continue;
    const std::int64_t given = op->integer("dim");
    const auto dim = static_cast<std::size_t>(given < 0 ? given + value.rank : given);
    const std::vector<baleen_value_t> inputs(op->inputs().begin(), op->inputs().end());
    for (const baleen_value_t input : inputs)
      if (graph.master_parameter(input) == parameter && dim < all.size()) std::erase(among, all[dim]);
  }
  return dimension_to_cut(value, all, among);
}

char batch_letter(const baleen_value_info_t& x, const std::string& letters, const std::string& rows) {
  for (std::size_t dim = 0; dim < letters.size(); ++dim)
    if (holds(rows, letters[dim]) && view(x.axes[dim]) == "batch") return letters[dim];
  return rows.empty() ? '\0' : rows[0];
}

void set_addends_apart(GraphView graph) {
  for (const baleen_op_t id : graph.ordered()) {
    baleen_value_t x = BALEEN_NONE, w = BALEEN_NONE, addend = BALEEN_NONE, result = BALEEN_NONE;
    {
      const auto op = graph.op(id);
      if (op->kind() != "matmul" || op->inputs().size() != 3) continue;
      x = op->inputs()[0], w = op->inputs()[1], addend = op->inputs()[2], result = op->outputs()[0];
    }
    graph.amend(id, std::array{x, w});
    graph.follow(id);
    const Value sum = Value(graph.table(), result) + Value(graph.table(), addend);
    graph.redirect(result, sum.id(), sum.info().producer);
  }
}

void set_losses_apart(GraphView graph) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && op->kind() == "cross_entropy") graph.set_tag(id, "no_fuse", "");
}

}  // namespace baleen::tensor_parallel
