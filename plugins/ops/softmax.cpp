/// \file `softmax` over the last dimension, and `softmax_grad`.
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// The last dimension's letter, and what a cut of it reduces: `count` numbers per row.
Iteration last_reduced(const OpReader& op, int count) {
  const std::string all = letters(op.rank(0));
  Iteration result;
  result.inputs.assign(op.operands(), all);
  result.outputs = {all};
  result.internal = {{all.back(), all.substr(0, all.size() - 1), count}};
  return result;
}

class Softmax : public OpKind {
 public:
  Softmax()
      : OpKind("softmax", "exp(x) over its sum, along the last dimension",
               BALEEN_KIND_PURE | BALEEN_KIND_SENSITIVE | BALEEN_KIND_REDUCTION) {
    operand("x", "at least one dimension");
    result("y", "the shape and dtype of x");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    BALEEN_TRY(check_least_rank("softmax", {"x", x}, 1));
    return Types{x};
  }
  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const baleen_value_t y = graph.op(op)->outputs()[0];
    return Values{graph.append("softmax_grad", {y, cotangents[0]})};
  }
  Iteration iteration(GraphView& graph, baleen_op_t op) override { return last_reduced(OpReader(graph, op), 2); }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(5); }

  /// exp(x - max) over its sum.
  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    OpBuilder build(graph);
    const baleen_value_t x = graph.op(op)->inputs()[0];
    const baleen_dtype_t dtype = build.dtype(x);
    const baleen_value_t largest = build.reduce_last("max", x);
    Expression e;
    const auto shifted = e.binary(BALEEN_X_SUB, e.input(0), e.input(1));
    const auto power = e.unary(BALEEN_X_EXP, shifted);
    const baleen_value_t powers = build.pointwise({x, largest}, e, power, {}, wide(dtype));
    const baleen_value_t sum = build.reduce_last("sum", powers);
    return Values{build.binary(BALEEN_X_DIV, powers, sum, dtype)};
  }
};
BALEEN_OP_KIND(Softmax);

class SoftmaxGrad : public OpKind {
 public:
  SoftmaxGrad()
      : OpKind("softmax_grad", "y (dy - sum(y dy))",
               BALEEN_KIND_PURE | BALEEN_KIND_SENSITIVE | BALEEN_KIND_REDUCTION | BALEEN_KIND_DERIVED) {
    operand("y", "of softmax");
    operand("dy", "the shape of y");
    result("dx", "the shape and dtype of y");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType &y = input.type(0), &dy = input.type(1);
    BALEEN_TRY(check_least_rank("softmax_grad", {"y", y}, 1));
    BALEEN_TRY(check_shape("softmax_grad", {"dy", dy}, y.shape, {"y", y}));
    return Types{y};
  }
  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    Iteration result = last_reduced(OpReader(graph, op), 1);
    result.linear = {{1}};
    return result;
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(4); }
  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const baleen_value_t y = node.inputs[0], dy = node.inputs[1];
    const baleen_dtype_t dtype = build.dtype(y);
    const baleen_value_t dot = build.reduce_last("sum", build.binary(BALEEN_X_MUL, y, dy, wide(dtype)));
    Expression e;
    const auto probability = e.input(0);
    const auto rest = e.binary(BALEEN_X_SUB, e.input(1), e.input(2));
    return Values{build.pointwise({y, dy, dot}, e, e.binary(BALEEN_X_MUL, probability, rest), {}, dtype)};
  }
};
BALEEN_OP_KIND(SoftmaxGrad);

}  // namespace
}  // namespace baleen::ops
