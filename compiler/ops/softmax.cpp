/// \file `softmax` over the last dimension, and `softmax_grad`.
#include "compiler/ops/builder.hpp"
#include "compiler/ops/families.hpp"

namespace baleen::ops {
namespace {

Result<Types> infer(const InferContext& context) {
  BALEEN_TRY(check_attributes("softmax", context.attributes, {}));
  BALEEN_TRY(check_count("softmax", context, 1, 1));
  const Named x{"the input", context.inputs[0]};
  BALEEN_TRY(check_floats("softmax", {x}));
  BALEEN_TRY(check_least_rank("softmax", x, 1));
  return Types{x.type};
}

Result<Values> gradient(Graph& graph, const Op& op, const Values& cotangents, const std::vector<bool>&) {
  Builder build(graph);
  return build.finish({build.one("softmax_grad", {op.outputs[0], cotangents[0]})});
}

/// The last dimension's letter, and what a cut of it reduces: `count` numbers per row.
Iteration last_reduced(const Graph& graph, const Op& op, int count) {
  const std::string all = letters(graph.value(op.inputs[0]).rank());
  Iteration result;
  result.inputs.assign(op.inputs.size(), all);
  result.outputs = {all};
  result.internal = {{all.back(), all.substr(0, all.size() - 1), count}};
  return result;
}

Iteration iteration(const Graph& graph, const Op& op) { return last_reduced(graph, op, 2); }

/// exp(x - max) over its sum.
Result<Values> expand(Graph& graph, const Op& op) {
  Builder build(graph);
  const ValueId x = op.inputs[0];
  const baleen_dtype_t sums = wide(graph.value(x).dtype);
  const ValueId largest = build.reduce_last("max", x);
  Expression e;
  const auto shifted = e.binary(BALEEN_X_SUB, e.input(0), e.input(1));
  const auto power = e.unary(BALEEN_X_EXP, shifted);
  const ValueId powers = build.pointwise({x, largest}, e, power, {}, sums);
  const ValueId sum = build.reduce_last("sum", powers);
  return build.finish({build.binary(BALEEN_X_DIV, powers, sum, graph.value(x).dtype)});
}

Result<Types> infer_grad(const InferContext& context) {
  BALEEN_TRY(check_attributes("softmax_grad", context.attributes, {}));
  BALEEN_TRY(check_count("softmax_grad", context, 2, 2));
  const Named y{"y", context.inputs[0]}, dy{"dy", context.inputs[1]};
  BALEEN_TRY(check_floats("softmax_grad", {y, dy}));
  BALEEN_TRY(check_least_rank("softmax_grad", y, 1));
  BALEEN_TRY(check_shape("softmax_grad", dy, y.type.shape, y));
  return Types{y.type};
}

Iteration iteration_grad(const Graph& graph, const Op& op) {
  Iteration result = last_reduced(graph, op, 1);
  result.linear = {{1}};
  return result;
}

/// y (dy - sum(y dy)).
Result<Values> expand_grad(Graph& graph, const Op& op) {
  Builder build(graph);
  const ValueId y = op.inputs[0], dy = op.inputs[1];
  const baleen_dtype_t dtype = graph.value(y).dtype;
  const ValueId dot = build.reduce_last("sum", build.binary(BALEEN_X_MUL, y, dy, wide(dtype)));
  Expression e;
  const auto y_ = e.input(0);
  const auto rest = e.binary(BALEEN_X_SUB, e.input(1), e.input(2));
  return build.finish({build.pointwise({y, dy, dot}, e, e.binary(BALEEN_X_MUL, y_, rest), {}, dtype)});
}

}  // namespace

Status register_softmax(OpRegistry& registry) {
  OpKind kind;
  kind.name = "softmax";
  kind.traits = kPure | kSensitive | kReduction;
  kind.infer = infer;
  kind.gradient = gradient;
  kind.iteration = iteration;
  kind.cost = cost_per_element(5);
  kind.expand = expand;
  BALEEN_TRY(registry.add(std::move(kind)));

  OpKind grad;
  grad.name = "softmax_grad";
  grad.traits = kPure | kSensitive | kReduction;
  grad.infer = infer_grad;
  grad.iteration = iteration_grad;
  grad.cost = cost_per_element(4);
  grad.expand = expand_grad;
  return registry.add(std::move(grad));
}

}  // namespace baleen::ops
