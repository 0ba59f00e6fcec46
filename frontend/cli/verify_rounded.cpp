/// \file Puts a rounding behind each value.
#include "frontend/cli/verify_rounded.hpp"

#include <cmath>

#include "baleen/dtype.hpp"
#include "baleen/expression_builder.hpp"

namespace baleen::app {
namespace {

bool rounds(const Op& op) {
  const OpKind& kind = *op.kind;
  if (op.inputs.empty()) return kind.name == "parameter" || kind.name == "input";
  return !(kind.has(kStructural) || kind.has(kView) || kind.has(kSensitive) || kind.has(kReduction));
}

/// To the dtype's digits. Numbers of 8 bits are scaled into their narrow range, so those are rounded to as many digits
/// of fp32, whatever their size (Dekker, "A floating-point technique for extending the available precision", 1971).
std::uint32_t rounded_to(Expression& e, baleen_dtype_t dtype) {
  const std::uint32_t x = e.input(0);
  if (!is_fp8(dtype)) return e.append({BALEEN_X_ROUND, x, static_cast<std::uint32_t>(dtype), 0, 0});
  const double split = std::ldexp(1.0, dtype_digits(BALEEN_F32) - dtype_digits(dtype)) + 1;
  const std::uint32_t large = e.binary(BALEEN_X_MUL, x, e.constant(split));
  return e.binary(BALEEN_X_SUB, large, e.binary(BALEEN_X_SUB, large, x));
}

Status round_values(Graph& graph, baleen_dtype_t dtype) {
  for (const OpId id : graph.ops()) {
    if (!rounds(graph.op(id))) continue;
    const std::vector<ValueId> results(graph.op(id).outputs.begin(), graph.op(id).outputs.end());
    for (const ValueId result : results) {
      if (!is_floating(graph.value(result).dtype) || graph.value(result).users.empty()) continue;
      Expression rounded;
      const std::uint32_t made = rounded_to(rounded, dtype);
      BALEEN_TRY_ASSIGN(const ValueId value, graph.pointwise({result}, rounded, made, graph.op(id).name));
      BALEEN_TRY(graph.redirect(result, value, graph.value(value).producer));
    }
  }
  return graph.normalise();
}

}  // namespace

Status round_values(Job& job, baleen_dtype_t dtype) {
  for (auto& [name, made] : job.graphs)
    if (made.role == GraphRole::train || made.role == GraphRole::evaluate || made.role == GraphRole::learn)
      BALEEN_TRY(round_values(made.graph, dtype));
  return {};
}

}  // namespace baleen::app
