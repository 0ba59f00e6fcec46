/// \file Finds products and the dimensions to cut.
#include "product.hpp"

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

std::vector<Product> products(GraphView graph) {
  std::vector<Product> found;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || op->kind() != "matmul" || op->inputs().size() != 2) continue;
    if (graph.info(id).phase != BALEEN_PHASE_FORWARD) continue;
    const bool first = is_weight(graph.value(op->inputs()[0])), second = is_weight(graph.value(op->inputs()[1]));
    if (first == second) continue;
    Product product{id, Letters(op->text("spec")), second ? 1u : 0u, op->inputs()[second ? 1 : 0], {}, {}, {}};
    sort_letters(product);
    if (!product.rows.empty() && !product.inner.empty() && !product.columns.empty())
      found.push_back(std::move(product));
  }
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

char batch_letter(const baleen_value_info_t& x, const std::string& letters, const std::string& rows) {
  for (std::size_t dim = 0; dim < letters.size(); ++dim)
    if (holds(rows, letters[dim]) && view(x.axes[dim]) == "batch") return letters[dim];
  return rows.empty() ? '\0' : rows[0];
}

void set_losses_apart(GraphView graph) {
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && op->kind() == "cross_entropy") graph.set_tag(id, "apart", "");
}

}  // namespace baleen::tensor_parallel
