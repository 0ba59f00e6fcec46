/// \file `norm` (layer and root mean square, over the last dimension) and `norm_grad`.
#include <limits>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

bool is_layer(const Op& op) { return op.text("kind") == "layer"; }

/// gamma and beta, or their gradients, are as long as the last dimension of x.
Shape weights_of(const ValueType& x) { return {x.shape.back()}; }

/// Sum over the last dimension (kept), divided by its extent; of fp32 where x has 16 bits.
baleen_value_t mean_last(OpBuilder& build, baleen_value_t x) {
  Expression e;
  const auto sum = e.input(0);
  const auto scale = e.constant(static_cast<double>(build.shape(x).back()));
  const baleen_value_t total = build.reduce_last("sum", x, wide(build.dtype(x)));
  return build.pointwise({total}, e, e.binary(BALEEN_X_DIV, sum, scale));
}

class Norm : public OpKind {
 public:
  Norm()
      : OpKind("norm", "(x - mean) rstd gamma + beta along the last dimension; rms: without the mean",
               BALEEN_KIND_PURE | BALEEN_KIND_SENSITIVE | BALEEN_KIND_REDUCTION) {
    operand("x", "at least one dimension");
    operand("gamma", "as long as the last dimension of x");
    operand("beta", "as gamma; of layer norms alone", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_OPTIONAL);
    result("y", "the shape and dtype of x");
    result("rstd", "(variance + epsilon)^-1/2 of each row", BALEEN_RESULT_INTERNAL);
    result("mean", "of each row; of layer norms alone", BALEEN_RESULT_INTERNAL | BALEEN_OPERAND_OPTIONAL);
    choice("kind", "layer", "layer|rms", "layer norm, or root mean square");
    attribute(BALEEN_RULE_NUMBER, "epsilon", "1e-5", "added to the variance", 0,
              std::numeric_limits<double>::infinity());
  }

  Result<Types> infer(const InferInput& input) override {
    const bool layer = is_layer(input.op());
    if (!layer && input.count() > 2)
      return invalid("norm (rms) takes x, gamma; it was given " + std::to_string(input.count()) + " operands");
    const ValueType& x = input.type(0);
    BALEEN_TRY(check_least_rank("norm", {"x", x}, 1));
    for (std::size_t i = 1; i < input.count(); ++i)
      BALEEN_TRY(check_shape("norm", {i == 1 ? "gamma" : "beta", input.type(i)}, weights_of(x), {"x", x}));
    const ValueType statistic = same_but(without_last(x), wide(x.dtype));
    return layer ? Types{x, statistic, statistic} : Types{x, statistic};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    BALEEN_TRY(only_first_result("norm", "statistics", cotangents));
    const OpNode node = OpNode::of(graph, op);
    const bool bias = node.inputs.size() > 2;
    Values inputs{node.inputs[0], node.inputs[1], cotangents[0], node.outputs[1]};
    AttributeList attributes;
    attributes.take(*graph.op(op), "kind").integer("bias", bias);
    if (node.outputs.size() > 2) inputs.push_back(node.outputs[2]);
    OpBuilder build(graph);
    Values made = build.many("norm_grad", inputs, attributes, bias ? 3 : 2);
    if (bias && wanted[2]) made[2] = build.cast(made[2], build.dtype(node.inputs[2]));
    keep_wanted(made, wanted);
    return made;
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.rank(0)), rows = all.substr(0, all.size() - 1), last(1, all.back());
    Iteration result;
    result.inputs = {all, last};
    if (op.operands() > 2) result.inputs.push_back(last);
    result.outputs = {all, rows};
    if (op.results() > 2) result.outputs.push_back(rows);
    result.internal = {{all.back(), rows, is_layer(op.op()) ? 2 : 1}};
    return result;
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(8); }

  /// rstd = (mean of (x - mean)^2 + epsilon)^-1/2.
  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const double epsilon = graph.op(op)->number("epsilon");
    const OpNode node = OpNode::of(graph, op);
    const bool layer = node.outputs.size() > 2;
    OpBuilder build(graph);
    const baleen_value_t x = node.inputs[0];
    const Shape rows = build.shape(node.outputs[1]);
    baleen_value_t mean = BALEEN_NONE, centred = x;
    if (layer) {
      mean = mean_last(build, x);
      centred = build.binary(BALEEN_X_SUB, x, mean);
    }
    const baleen_value_t variance =
        mean_last(build, build.binary(BALEEN_X_MUL, centred, centred, wide(build.dtype(x))));
    Expression e;
    const auto shifted = e.binary(BALEEN_X_ADD, e.input(0), e.constant(epsilon));
    const baleen_value_t rstd = build.pointwise({variance}, e, e.unary(BALEEN_X_RSQRT, shifted));
    Expression f;
    Values operands{centred, rstd, build.lead(node.inputs[1], rows.size())};
    auto y = f.binary(BALEEN_X_MUL, f.binary(BALEEN_X_MUL, f.input(0), f.input(1)), f.input(2));
    if (node.inputs.size() > 2) {
      operands.push_back(build.lead(node.inputs[2], rows.size()));
      y = f.binary(BALEEN_X_ADD, y, f.input(3));
    }
    Values results{build.pointwise(operands, f, y, {}, build.dtype(x)), build.reshape(rstd, rows)};
    if (layer) results.push_back(build.reshape(mean, rows));
    return results;
  }
};
BALEEN_OP_KIND(Norm);

class NormGrad : public OpKind {
 public:
  NormGrad()
      : OpKind("norm_grad", "with n = (x - mean) rstd and g = dy gamma: dx = rstd (g - mean(g) - n mean(g n))",
               BALEEN_KIND_PURE | BALEEN_KIND_SENSITIVE | BALEEN_KIND_REDUCTION | BALEEN_KIND_DERIVED) {
    operand("x", "of norm");
    operand("gamma", "of norm");
    operand("dy", "the shape of x");
    operand("rstd", "of norm");
    operand("mean", "of norm; of layer norms alone", BALEEN_OPERAND_FLOATING | BALEEN_OPERAND_OPTIONAL);
    result("dx", "the shape and dtype of x");
    result("dgamma", "the sum of dy n over the rows; the type of gamma");
    result("dbeta", "the sum of dy over the rows, where `bias` is 1", BALEEN_OPERAND_OPTIONAL);
    choice("kind", "", "layer|rms", "that of norm; rms: without mean(g)");
    optional_attribute(BALEEN_RULE_BOOLEAN, "bias", "whether the norm has beta");
  }

  Result<Types> infer(const InferInput& input) override {
    const bool layer = is_layer(input.op());
    const std::size_t expected = layer ? 5 : 4;
    if (input.count() != expected)
      return invalid(std::string(layer ? "norm_grad (layer) takes x, gamma, dy, rstd, mean"
                                       : "norm_grad (rms) takes x, gamma, dy, rstd") +
                     "; it was given " + std::to_string(input.count()) + " operands");
    const ValueType &x = input.type(0), &gamma = input.type(1);
    BALEEN_TRY(check_least_rank("norm_grad", {"x", x}, 1));
    BALEEN_TRY(check_shape("norm_grad", {"gamma", gamma}, weights_of(x), {"x", x}));
    BALEEN_TRY(check_shape("norm_grad", {"dy", input.type(2)}, x.shape, {"x", x}));
    const Shape rows = without_last(x).shape;
    for (std::size_t i = 3; i < input.count(); ++i)
      BALEEN_TRY(check_shape("norm_grad", {i == 3 ? "rstd" : "mean", input.type(i)}, rows, {"x", x}));
    const bool bias = input.op().integer("bias", 0) != 0;
    if (bias && !layer) return invalid("norm_grad: `bias` is 1, but a norm of kind \"rms\" has none");
    return bias ? Types{x, gamma, gamma} : Types{x, gamma};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.rank(0)), rows = all.substr(0, all.size() - 1), last(1, all.back());
    Iteration result;
    result.inputs = {all, last, all, rows};
    if (op.operands() > 4) result.inputs.push_back(rows);
    result.outputs = {all, last};
    if (op.results() > 2) result.outputs.push_back(last);
    result.linear = {{2}};
    result.internal = {{all.back(), rows, op.operands() > 4 ? 2 : 1}};
    return result;
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(14); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    const bool layer = node.inputs.size() > 4;
    OpBuilder build(graph);
    const baleen_value_t x = node.inputs[0], dy = node.inputs[2], rstd = build.trail(node.inputs[3]);
    const std::size_t leading = build.shape(node.inputs[3]).size();
    baleen_value_t centred = x;
    if (layer) centred = build.binary(BALEEN_X_SUB, x, build.trail(node.inputs[4]));
    const baleen_value_t n = build.binary(BALEEN_X_MUL, centred, rstd);
    const baleen_dtype_t sums = wide(build.dtype(x)), weights = build.dtype(node.outputs[1]);
    const baleen_value_t g = build.binary(BALEEN_X_MUL, dy, build.lead(node.inputs[1], leading), sums);
    const baleen_value_t along = mean_last(build, build.binary(BALEEN_X_MUL, g, n));
    Expression e;
    Values operands{g, n, along, rstd};
    auto dx = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, e.input(1), e.input(2)));
    if (layer) {
      operands.push_back(mean_last(build, g));
      dx = e.binary(BALEEN_X_SUB, dx, e.input(4));
    }
    std::vector<std::int64_t> rows;
    for (std::size_t d = 0; d < leading; ++d) rows.push_back(static_cast<std::int64_t>(d));
    Values results{build.pointwise(operands, e, e.binary(BALEEN_X_MUL, dx, e.input(3)), {}, build.dtype(x)),
                   build.reduce("sum", build.binary(BALEEN_X_MUL, dy, n), rows, false, weights)};
    if (node.outputs.size() > 2) results.push_back(build.reduce("sum", dy, rows, false, weights));
    return results;
  }
};
BALEEN_OP_KIND(NormGrad);

}  // namespace
}  // namespace baleen::ops
