/// \file Walks over products, embeddings, norms and losses.
#include "closed_forms.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "cut_check.hpp"

namespace baleen::tensor_parallel {
namespace {

bool has_letter(const std::string& text, char letter) { return text.find(letter) != std::string::npos; }

/// Whether the backward pass makes the gradient of what a product reads.
bool has_input_gradient(GraphView& graph, const Product& product, const BackwardProducts& backward) {
  const auto own = backward.find(product.op);
  return own != backward.end() && std::any_of(own->second.begin(), own->second.end(), [&](baleen_op_t id) {
           return Letters(graph.op(id)->text("spec")).result == product.x();
         });
}

/// Bytes of fp32 that `numbers` for each row of a value are, in values.
double numbers_per_row(const baleen_value_info_t& value, double numbers) {
  const auto width = static_cast<double>(value.shape[value.rank - 1]);
  return numbers * 4 / (width * static_cast<double>(dtype_size(value.dtype)));
}

}  // namespace

BackwardProducts backward_products(GraphView graph) {
  BackwardProducts all;
  for (baleen_op_t id = 0; id < graph.op_count(); ++id)
    if (const auto op = graph.op(id); op && op->kind() == "matmul")
      if (const baleen_op_t forward = graph.info(id).twin; forward != BALEEN_NONE) all[forward].push_back(id);
  return all;
}

void expect_columns_rows(GraphView graph, Placing placing, std::uint32_t axis) {
  FormsAlong forms(graph, placing, axis);
  const double share = 1 / forms.ranks();
  const auto of = [&](baleen_value_t id) {
    StateShares shares;
    if (inner_dimension(graph.value(id)))
      shares.parameter = shares.states = shares.gradient = shares.gradient_left = shares.parameter_left = share;
    return shares;
  };
  const std::string_view cut = "1/t of what has heads, ff or vocab (arXiv 1909.08053)";
  forms.states(of, {cut, cut, cut});
  forms.activations([&](const auto& value) { return inner_dimension(value) ? share : 1; },
                    "1/t of what has heads, ff or vocab, the rest whole (arXiv 2205.05198, table 2)");
  constexpr std::string_view kSums = "8 bsh (t - 1)/t a layer: 2 sums forward, 2 backward (arXiv 2104.04473)";
  std::set<baleen_value_t> summed;
  const BackwardProducts backward = backward_products(graph);
  for (const Product& product : products(graph)) {
    const auto dim = inner_dimension(graph.value(product.parameter));
    if (!dim) continue;
    const auto op = graph.op(product.op);
    const baleen_value_t read = op->inputs()[1 - product.weight], made = op->outputs()[0];
    const baleen_value_t x = before_cast(graph, read), y = behind_scales(graph, made);
    if (has_letter(product.inner, product.w()[static_cast<std::size_t>(*dim)]))
      forms.sent(y, 2 * forms.part(), kSums);
    else if (has_input_gradient(graph, product, backward) && summed.insert(x).second)
      forms.sent(x, 2 * forms.part(), kSums);
  }
  for (baleen_op_t id = 0; id < graph.op_count(); ++id) {
    const auto op = graph.op(id);
    if (!op || graph.info(id).phase != BALEEN_PHASE_FORWARD || op->inputs().empty()) continue;
    const baleen_value_t first = op->inputs()[0], result = op->outputs().empty() ? BALEEN_NONE : op->outputs()[0];
    const bool embeds = op->kind() == "embedding", loses = op->kind() == "cross_entropy",
               is_fused = op->kind() == "linear_cross_entropy" && inner_dimension(graph.value(op->inputs()[1]));
    const baleen_value_info_t value = graph.value(first);
    if (embeds && view(value.axes[0]) == "vocab") forms.sent(result, 2 * forms.part(), kSums);
    if (is_fused) forms.sent(first, 2 * forms.part(), kSums);
    if (is_fused || (loses && view(value.axes[value.rank - 1]) == "vocab"))
      forms.sent(first, numbers_per_row(value, 3) * 2 * forms.part(), "3 numbers a token for the loss");
  }
}

void expect_shares(GraphView graph, Placing placing, const GridShares& shares, const StateFormulas& formulas,
                   std::string_view activations) {
  for (const std::uint32_t axis : shares.axes) {
    FormsAlong forms(graph, placing, axis);
    forms.states([&](baleen_value_t id) { return shares.parameter(axis, graph.master_parameter(id)); }, formulas);
    for (baleen_value_t id = 0; id < graph.value_count(); ++id) {
      const baleen_value_info_t value = graph.value(id);
      if (value.role == BALEEN_ROLE_ACTIVATION && graph.op(value.producer) &&
          graph.info(value.producer).phase == BALEEN_PHASE_FORWARD)
        forms.held(id, shares.activation(axis, id), activations);
    }
  }
}

void SentOnGrid::sent(baleen_value_t value, double times, std::string_view formula) {
  if (times > 0) placing_.expect(BALEEN_FORM_SENT, value, axes_, times, formula);
}

void SentOnGrid::summa(const Product& product, char travels) {
  constexpr std::string_view kSumma = "3 (MK/d + KN) (q - 1)/q^2 a product of M x K and K x N (arXiv 2104.05343)";
  const auto forward = graph_.op(product.op);
  const baleen_value_t x = forward->inputs()[1 - product.weight], w = forward->inputs()[product.weight],
                       y = forward->outputs()[0];
  const double block = (side_ - 1) / (side_ * side_);
  const auto turns = static_cast<double>(placing_.micro_batches());
  std::vector<baleen_op_t> ops{product.op};
  if (const auto more = backward_.find(product.op); more != backward_.end())
    ops.insert(ops.end(), more->second.begin(), more->second.end());
  for (const baleen_op_t id : ops) {
    const Letters letters(graph_.op(id)->text("spec"));
    const int backward = id != product.op;
    for (const auto& [own, is_result] :
         {std::pair{letters.inputs[0], false}, std::pair{letters.inputs[1], false}, std::pair{letters.result, true}}) {
      if (!has_letter(own, travels)) continue;
      const bool is_weight = own == product.w();
      const baleen_value_t value = is_weight ? w : own == product.x() ? x : y;
      // Products that read one value share its blocks, and so do their terms of its gradient.
      if (!is_weight && !travelled_.insert({value, 2 * backward + is_result}).second) continue;
      sent(value, is_weight ? block * turns : block / depth_, kSumma);
    }
  }
}

void SentOnGrid::cube(const Product& product) {
  constexpr std::string_view kCube = "(3 MK + 3 KN + 2 MN) (q - 1)/q^3 a product of M x K and K x N (arXiv 2105.14450)";
  const auto op = graph_.op(product.op);
  const baleen_value_t x = op->inputs()[1 - product.weight], w = op->inputs()[product.weight], y = op->outputs()[0];
  const double part = (side_ - 1) / (side_ * side_ * side_), turns = static_cast<double>(placing_.micro_batches());
  const bool both = has_input_gradient(graph_, product, backward_);
  if (travelled_.insert({x, 0}).second) sent(x, (both ? 3 : 2) * part, kCube);
  sent(w, ((both ? 2 : 1) * turns + 1) * part, kCube);
  sent(y, 2 * part, kCube);
}

void SentOnGrid::embeddings(double ranks) {
  for (baleen_op_t id = 0; id < graph_.op_count(); ++id) {
    const auto op = graph_.op(id);
    if (!op || op->kind() != "embedding" || graph_.info(id).phase != BALEEN_PHASE_FORWARD) continue;
    sent(op->outputs()[0], 2 * (side_ - 1) / ranks, "2 embeddings (q - 1), over the grid");
  }
}

void SentOnGrid::inner_sums(double rows) {
  for (baleen_op_t id = 0; id < graph_.op_count(); ++id) {
    const auto op = graph_.op(id);
    if (!op || graph_.info(id).phase != BALEEN_PHASE_FORWARD) continue;
    const bool is_norm = op->kind() == "norm", is_loss = op->kind() == "cross_entropy";
    if (!is_norm && !is_loss) continue;
    const baleen_value_t read = op->inputs()[0];
    sent(read, numbers_per_row(graph_.value(read), is_norm ? 5 : 3) * rows * 2 * (side_ - 1) / side_,
         "5 numbers a row for norms, 3 for the loss");
  }
}

}  // namespace baleen::tensor_parallel
