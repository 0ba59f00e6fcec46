/// \file The gradient rule of `pointwise`.
#include <cstddef>
#include <optional>
#include <utility>

#include "baleen/expression_edit.hpp"
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"
#include "expression_derivative.hpp"
#include "pointwise.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// The op, copied: the graph changes while the rule reads it.
struct Forward {
  Expression expression;
  std::vector<std::int64_t> results;
  Values inputs;
  Shape whole;

  Forward(GraphView& graph, baleen_op_t id) {
    const OpReader op(graph, id);
    const auto code = op.op().expression("expression");
    const auto numbers = op.op().integers("results");
    expression.code.assign(code.begin(), code.end());
    results.assign(numbers.begin(), numbers.end());
    inputs.assign(op.op().inputs().begin(), op.op().inputs().end());
    whole = shape_of(graph, op.result(0));
  }
};

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
Derivative derivative_of(const Forward& forward, Cotangents cotangents, std::uint32_t input) {
  Derivative d;
  d.operands = forward.inputs;
  for (std::size_t r = 0; r < forward.results.size(); ++r) {
    if (cotangents[r] == BALEEN_NONE) continue;
    const auto number = static_cast<std::uint32_t>(d.operands.size());
    const auto term =
        differentiate(forward.expression, static_cast<std::uint32_t>(forward.results[r]), input, number, d.expression);
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
baleen_value_t whole_gradient(OpBuilder& build, const Derivative& d, baleen_dtype_t dtype) {
  bool same = true;
  for (const baleen_value_t operand : d.operands) {
    const baleen_dtype_t own = build.dtype(operand);
    same = same && (own == dtype || !is_floating(own));
  }
  const auto& code = d.expression.code;
  if (same && code.size() == 1 && code[0].opcode == BALEEN_X_INPUT) return d.operands[0];
  return build.pointwise(d.operands, d.expression, static_cast<std::uint32_t>(d.result), {},
                         same ? std::optional<baleen_dtype_t>() : dtype);
}

/// Sums `x`, of the op's whole shape, over the dimensions that the input lacks.
baleen_value_t sum_broadcast(OpBuilder& build, baleen_value_t x, const Shape& whole, const Shape& input) {
  if (input == whole) return x;
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < whole.size(); ++d)
    if (input.empty() || input[d] != whole[d]) dims.push_back(static_cast<std::int64_t>(d));
  return build.reduce("sum", x, dims, !input.empty());
}

}  // namespace

Values pointwise_gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) {
  const Forward forward(graph, op);
  OpBuilder build(graph);
  Values result(forward.inputs.size(), BALEEN_NONE);
  for (std::uint32_t i = 0; i < forward.inputs.size(); ++i) {
    if (wanted[i] == 0) continue;
    const Derivative d = derivative_of(forward, cotangents, i);
    if (d.result < 0) continue;
    const baleen_value_t gradient = whole_gradient(build, d, build.dtype(forward.inputs[i]));
    result[i] = sum_broadcast(build, gradient, forward.whole, build.shape(forward.inputs[i]));
  }
  return result;
}

}  // namespace baleen::ops
