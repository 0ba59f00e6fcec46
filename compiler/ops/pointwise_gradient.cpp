/// \file The gradient rule of `pointwise`.
#include "compiler/ops/builder.hpp"
#include "compiler/ops/pointwise.hpp"

namespace baleen::ops {
namespace {

/// An expression over `operands`, and its result.
struct Derivative {
  Expression expression;
  std::int64_t result = -1;  ///< -1: zero everywhere
  Values operands;
};

/// Numbers the inputs that are read 0, 1, … and drops the operands that are not.
void compact(Derivative& derivative) {
  std::vector<std::int64_t> results{derivative.result};
  derivative.expression = prune(derivative.expression, results);
  derivative.result = results[0];
  std::vector<std::int64_t> number(derivative.operands.size(), -1);
  Values kept;
  for (auto& i : derivative.expression.code) {
    if (i.opcode != BALEEN_X_INPUT) continue;
    if (number[i.a] < 0) {
      number[i.a] = static_cast<std::int64_t>(kept.size());
      kept.push_back(derivative.operands[i.a]);
    }
    i.a = static_cast<std::uint32_t>(number[i.a]);
  }
  derivative.operands = std::move(kept);
}

/// Sum over the results of cotangent times d(result)/d(input).
Derivative derivative_of(const Op& op, const Values& cotangents, std::uint32_t input) {
  const Expression& forward = op.attributes.expression("expression");
  const auto& results = op.attributes.integers("results");
  Derivative d;
  d.operands = op.inputs;
  for (std::size_t r = 0; r < results.size(); ++r) {
    if (cotangents[r] == kNone) continue;
    const auto number = static_cast<std::uint32_t>(d.operands.size());
    const auto term = differentiate(forward, static_cast<std::uint32_t>(results[r]), input, number, d.expression);
    if (term < 0) continue;
    d.operands.push_back(cotangents[r]);
    d.result = d.result < 0 ? term
                            : d.expression.binary(BALEEN_X_ADD, static_cast<std::uint32_t>(d.result),
                                                  static_cast<std::uint32_t>(term));
  }
  if (d.result >= 0) compact(d);
  return d;
}

/// The derivative as a value of the op's whole shape (which a cotangent, always among the operands, has) and of
/// `dtype`.
ValueId whole_gradient(const Graph& graph, Builder& build, const Derivative& d, baleen_dtype_t dtype) {
  bool same = true;
  for (ValueId operand : d.operands) {
    const baleen_dtype_t own = graph.value(operand).dtype;
    same = same && (own == dtype || !is_floating(own));
  }
  const auto& code = d.expression.code;
  if (same && code.size() == 1 && code[0].opcode == BALEEN_X_INPUT) return d.operands[0];
  return build.pointwise(d.operands, d.expression, static_cast<std::uint32_t>(d.result), {},
                         same ? std::optional<baleen_dtype_t>() : dtype);
}

/// Sums `x`, of the op's whole shape, over the dimensions that the input lacks.
ValueId sum_broadcast(Builder& build, ValueId x, const Shape& whole, const Shape& input) {
  if (input == whole) return x;
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < whole.size(); ++d)
    if (input.empty() || input[d] != whole[d]) dims.push_back(static_cast<std::int64_t>(d));
  return build.reduce("sum", x, dims, !input.empty());
}

}  // namespace

Result<Values> pointwise_gradient(Graph& graph, const Op& op, const Values& cotangents,
                                  const std::vector<bool>& wanted) {
  Builder build(graph);
  Values result(op.inputs.size(), kNone);
  const Shape whole = graph.value(op.outputs[0]).shape;
  for (std::uint32_t i = 0; i < op.inputs.size(); ++i) {
    if (!wanted[i]) continue;
    const ValueType input = graph.type(op.inputs[i]);
    Derivative d = derivative_of(op, cotangents, i);
    if (d.result < 0) continue;
    result[i] = sum_broadcast(build, whole_gradient(graph, build, d, input.dtype), whole, input.shape);
  }
  return build.finish(result);
}

}  // namespace baleen::ops
