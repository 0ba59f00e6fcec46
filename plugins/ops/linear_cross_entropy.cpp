/// \file `linear_cross_entropy`: a projection and its cross entropy in one, so that the logits are never all held.
#include <algorithm>

#include "loss.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

constexpr const char *kForward = "linear_cross_entropy", *kGrad = "linear_cross_entropy_grad",
                     *kJoint = "linear_cross_entropy_and_grad";

bool transposed(const Op& op) { return op.integer("transposed", 0) != 0; }

struct Letters {
  std::string rows, x, w;
  char vocabulary;
};

/// The depth may not be cut: half a logit is no logit.
Letters letters_of(const OpReader& op) {
  const std::string all = letters(op.rank(0));
  Letters result;
  result.rows = all.substr(0, all.size() - 1);
  result.x = result.rows + '.';
  result.vocabulary = all.back();
  result.w = transposed(op.op()) ? std::string{result.vocabulary, '.'} : std::string{'.', result.vocabulary};
  return result;
}

/// For the matmuls of the expansions: letters of the rows from 'a' on, then 'y' for the depth and 'z' for the
/// vocabulary. Logits that are never all held are not rounded.
struct Projection {
  std::string x, w, logits;
  baleen_dtype_t dtype;

  explicit Projection(GraphView& graph, const OpReader& op) : dtype(wide(dtype_of(graph, op.operand(0)))) {
    const std::string rows = letters(op.rank(0) - 1);
    x = rows + 'y';
    w = transposed(op.op()) ? "zy" : "yz";
    logits = rows + 'z';
  }
  baleen_value_t append(OpBuilder& build, baleen_value_t x_value, baleen_value_t w_value) const {
    return build.matmul(x + "," + w + "->" + logits, x_value, w_value, dtype);
  }
};

/// What the three kinds have.
class LinearLoss : public LossKind {
 protected:
  LinearLoss(const char* name, std::string help, baleen_kind_traits_t more = 0)
      : LossKind(name, std::move(help), BALEEN_KIND_DERIVED | more), name_(name) {
    operand("x", "[.., depth]");
    operand("w", "[depth, classes], or [classes, depth] where `transposed` is true");
    operand("target", "a class per row", BALEEN_OPERAND_IDS);
    optional_attribute(BALEEN_RULE_BOOLEAN, "transposed", "whether w is [classes, depth]");
  }

  /// x, w, and the operands behind them, which are of one number per row.
  Status check(const InferInput& input, std::initializer_list<const char*> rows) const {
    const ValueType &x = input.type(0), &w = input.type(1);
    BALEEN_TRY(check_least_rank(name_, {"x", x}, 1));
    BALEEN_TRY(check_rank(name_, {"w", w}, 2));
    const bool turned = transposed(input.op());
    const std::int64_t depth = w.shape[turned ? 1 : 0];
    if (depth != x.shape.back())
      return invalid(std::string(name_) + ": the last dimension of x " + shape_text(x.shape) + " is " +
                     std::to_string(x.shape.back()) + ", but w " + shape_text(w.shape) + " takes " +
                     std::to_string(depth) + (turned ? " (it is transposed)" : ""));
    return check_rows(name_, input, rows, 2);
  }
  /// The type of dw.
  Result<ValueType> gradient_of_w(const InferInput& input) const {
    const ValueType& w = input.type(1);
    BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype(name_, input.dtype(), w.dtype));
    return same_but(w, dtype);
  }
  /// 2 for the products of one matmul, 6 for those of three.
  static Cost cost_of(const OpReader& op, double per_product) {
    const Shape x = op.shape(0);
    const double rows = static_cast<double>(elements(x)) / static_cast<double>(std::max<std::int64_t>(1, x.back()));
    return op.cost(per_product * rows * static_cast<double>(elements(op.shape(1))));
  }

 private:
  const char* name_;
};

class LinearCrossEntropy : public LinearLoss {
 public:
  LinearCrossEntropy() : LinearLoss(kForward, "cross_entropy of the logits x w, which are never all held") {
    rows_of_results();
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check(input, {"target"}));
    return Types{row(input.type(0)), row(input.type(0))};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    BALEEN_TRY(only_first_result(kForward, "lse", cotangents));
    const OpNode node = OpNode::of(graph, op);
    const Values inputs{node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[1], cotangents[0]};
    Values made = graph.append(kGrad, inputs, node.attributes, 2);
    keep_wanted(made, wanted);
    made.push_back(BALEEN_NONE);
    return made;
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const Letters l = letters_of(op);
    return {{l.x, l.w, l.rows}, {l.rows, l.rows}, {}, {{l.vocabulary, l.rows, statistics(op.op())}}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return cost_of(OpReader(graph, op), 2); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const Projection projection(graph, OpReader(graph, op));
    const AttributeList attributes = attributes_of(*graph.op(op));
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const baleen_value_t logits = projection.append(build, node.inputs[0], node.inputs[1]);
    return build.many("cross_entropy", {logits, node.inputs[2]}, attributes, 2);
  }
};
BALEEN_OP_KIND(LinearCrossEntropy);

class LinearCrossEntropyGrad : public LinearLoss {
 public:
  LinearCrossEntropyGrad()
      : LinearLoss(kGrad, "the gradients of linear_cross_entropy, from its lse", BALEEN_KIND_TYPED) {
    operand("lse", "of linear_cross_entropy");
    operand("dloss", "a number per row");
    result("dx", "the shape and dtype of x");
    result("dw", "the shape and dtype of w");
    typed();
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check(input, {"target", "lse", "dloss"}));
    BALEEN_TRY_ASSIGN(const ValueType dw, gradient_of_w(input));
    return Types{input.type(0), dw};
  }

  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const Letters l = letters_of(OpReader(graph, op));
    return {{l.x, l.w, l.rows, l.rows, l.rows}, {l.x, l.w}, {{4}}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return cost_of(OpReader(graph, op), 6); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const Projection p(graph, OpReader(graph, op));
    const AttributeList attributes = attributes_of(*graph.op(op));
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const baleen_value_t x = node.inputs[0], w = node.inputs[1];
    const baleen_value_t logits = p.append(build, x, w);
    const baleen_value_t d =
        build.one("cross_entropy_grad", {logits, node.inputs[2], node.inputs[3], node.inputs[4]}, attributes);
    return Values{build.matmul(p.logits + "," + p.w + "->" + p.x, d, w, build.dtype(x)),
                  build.matmul(p.x + "," + p.logits + "->" + p.w, x, d, build.dtype(node.outputs[1]))};
  }

  /// Only the gradient of a loss reads the loss's lse, and it has the loss's attributes. So both can be one op.
  std::optional<Join> join(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    const baleen_op_t producer = graph.value(node.inputs[3]).producer;
    const auto loss = graph.op(producer);
    if (!loss || loss->kind() != kForward || loss->outputs()[1] != node.inputs[3] ||
        !std::equal(loss->inputs().begin(), loss->inputs().end(), node.inputs.begin()))
      return std::nullopt;
    return Join{producer,
                kJoint,
                {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[4]},
                {loss->outputs()[0], loss->outputs()[1], node.outputs[0], node.outputs[1]},
                node.attributes};
  }
};
BALEEN_OP_KIND(LinearCrossEntropyGrad);

class LinearCrossEntropyAndGrad : public LinearLoss {
 public:
  LinearCrossEntropyAndGrad() : LinearLoss(kJoint, "the loss and its gradients, from the logits computed once") {
    operand("dloss", "a number per row");
    rows_of_results();
    result("dx", "the shape and dtype of x");
    result("dw", "the shape and dtype of w");
    optional_attribute(BALEEN_RULE_DTYPE, "dtype", "of dw");
  }

  Result<Types> infer(const InferInput& input) override {
    BALEEN_TRY(check(input, {"target", "dloss"}));
    BALEEN_TRY_ASSIGN(const ValueType dw, gradient_of_w(input));
    const ValueType& x = input.type(0);
    return Types{row(x), row(x), x, dw};
  }

  /// The vocabulary dimension ('.') cannot be sharded: the loss of a row needs the logits of all classes.
  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const Letters l = letters_of(OpReader(graph, op));
    return {{l.x, "..", l.rows, l.rows}, {l.rows, l.rows, l.x, ".."}, {}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return cost_of(OpReader(graph, op), 6); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    AttributeList forward = node.attributes;
    forward.erase("dtype");  // of dw
    const Values& in = node.inputs;
    OpBuilder build(graph);
    const Values loss = build.many(kForward, {in[0], in[1], in[2]}, forward, 2);
    const Values grad = build.many(kGrad, {in[0], in[1], in[2], loss[1], in[3]}, node.attributes, 2);
    return Values{loss[0], loss[1], grad[0], grad[1]};
  }
};
BALEEN_OP_KIND(LinearCrossEntropyAndGrad);

}  // namespace
}  // namespace baleen::ops
