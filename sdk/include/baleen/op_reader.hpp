/// \file An op with the types of its values, for rules that only look.
#pragma once
#include <stdexcept>

#include "baleen/graph_view.hpp"
#include "baleen/op_types.hpp"
#include "baleen/result.hpp"

namespace baleen::sdk {

using Values = std::vector<baleen_value_t>;
using Shape = std::vector<std::int64_t>;
/// What gradient rules get: one per result (BALEEN_NONE: none flows), and one per operand.
using Cotangents = std::span<const baleen_value_t>;
using Wanted = std::span<const std::uint8_t>;

inline Shape shape_of(const GraphView& graph, baleen_value_t id) {
  const baleen_value_info_t info = graph.value(id);
  return {info.shape, info.shape + info.rank};
}
inline std::size_t rank_of(const GraphView& graph, baleen_value_t id) { return graph.value(id).rank; }
inline baleen_dtype_t dtype_of(const GraphView& graph, baleen_value_t id) { return graph.value(id).dtype; }

/// Valid until the graph changes or is asked for another op.
class OpReader {
 public:
  OpReader(GraphView& graph, baleen_op_t id) : graph_(graph), op_(read(graph, id)) {}

  /// With its attributes.
  const Op& op() const { return op_; }
  std::size_t operands() const { return op_.inputs().size(); }
  std::size_t results() const { return op_.outputs().size(); }
  baleen_value_t operand(std::size_t number) const { return op_.inputs()[number]; }
  baleen_value_t result(std::size_t number) const { return op_.outputs()[number]; }
  std::size_t rank(std::size_t operand) const { return rank_of(graph_, op_.inputs()[operand]); }
  Shape shape(std::size_t operand) const { return shape_of(graph_, op_.inputs()[operand]); }
  std::size_t result_rank(std::size_t number) const { return rank_of(graph_, op_.outputs()[number]); }

  /// Operands and results read and written once, and `flops`.
  Cost cost(double flops) const {
    Cost cost{flops, 0};
    for (const auto list : {op_.inputs(), op_.outputs()})
      for (const baleen_value_t id : list) {
        const baleen_value_info_t info = graph_.value(id);
        cost.bytes += static_cast<double>(elements(std::span(info.shape, info.rank))) *
                      static_cast<double>(dtype_size(info.dtype));
      }
    return cost;
  }
  /// `flops` per element of the first operand.
  Cost cost_per_element(double flops) const {
    const baleen_value_info_t info = graph_.value(op_.inputs()[0]);
    return cost(flops * static_cast<double>(elements(std::span(info.shape, info.rank))));
  }

 private:
  static Op read(GraphView& graph, baleen_op_t id) {
    const auto found = graph.op(id);
    if (!found) throw std::out_of_range("there is no op " + std::to_string(id));
    return *found;
  }

  GraphView& graph_;
  Op op_;
};

/// The failure for a cotangent that flows into a result other than the first; `others` names those.
inline Status only_first_result(const std::string& kind, const char* others, Cotangents cotangents) {
  for (std::size_t i = 1; i < cotangents.size(); ++i)
    if (cotangents[i] != BALEEN_NONE)
      return unsupported(kind + ": only its first result can be differentiated; the loss also depends on its " +
                         others);
  return {};
}

/// No cotangent for an operand that needs none.
inline void keep_wanted(Values& cotangents, Wanted wanted) {
  for (std::size_t i = 0; i < cotangents.size() && i < wanted.size(); ++i)
    if (wanted[i] == 0) cotangents[i] = BALEEN_NONE;
}

}  // namespace baleen::sdk
