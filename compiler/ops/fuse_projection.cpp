/// \file Recognises a loss over a plain projection.
#include "compiler/ops/fuse_projection.hpp"

#include <algorithm>

namespace baleen {
namespace {

/// "bsd,dv->bsv" split at its punctuation.
struct Spec {
  std::string a, b, y;

  explicit Spec(const std::string& text) {
    const auto comma = text.find(','), arrow = text.find("->");
    a = text.substr(0, comma);
    b = text.substr(comma + 1, arrow - comma - 1);
    y = text.substr(arrow + 2);
  }

  /// a = X d, y = X v, b of two dimensions.
  bool is_projection() const {
    return b.size() == 2 && a.size() == y.size() && !a.empty() && a.back() != y.back() &&
           std::equal(a.begin(), a.end() - 1, y.begin()) && (is_plain() || is_transposed());
  }
  bool is_plain() const { return b[0] == a.back() && b[1] == y.back(); }
  bool is_transposed() const { return b[1] == a.back() && b[0] == y.back(); }
};

bool is_output(const Graph& graph, ValueId value) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const GraphOutput& output) { return output.value == value; });
}

}  // namespace

Result<std::vector<ValueId>> fuse_projection(Graph& graph, const Op& op) {
  const ValueId logits = op.inputs[0];
  const Op* projection = graph.producer(logits);
  if (!projection || projection->kind->name != "matmul" || projection->inputs.size() != 2)
    return std::vector<ValueId>{};
  if (graph.value(logits).users.size() != 1 || is_output(graph, logits)) return std::vector<ValueId>{};
  const Spec spec(projection->attributes.text("spec"));
  if (!spec.is_projection()) return std::vector<ValueId>{};

  Attributes attributes = op.attributes;
  attributes.set("transposed", Attributes::ints({spec.is_transposed() ? 1 : 0}));
  return graph.append("linear_cross_entropy", {projection->inputs[0], projection->inputs[1], op.inputs[1]},
                      std::move(attributes), op.name);
}

}  // namespace baleen
