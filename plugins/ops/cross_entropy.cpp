/// \file `cross_entropy` of logits against class ids, and `cross_entropy_grad`.
#include "contraction_spec.hpp"
#include "loss.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// What the expansions must know beside the operands.
struct Options {
  double smoothing = 0;
  std::optional<std::int64_t> ignored;

  explicit Options(const Op& op) : smoothing(op.number("smoothing", 0)) {
    if (op.has("ignore_index")) ignored = op.integer("ignore_index");
  }
  /// 0 where the target is `ignore_index`, else `value`.
  std::uint32_t unless_ignored(Expression& e, std::uint32_t target, std::uint32_t value) const {
    if (!ignored) return value;
    const auto hit = e.binary(BALEEN_X_EQ, target, e.constant(static_cast<double>(*ignored)));
    return e.select(hit, e.constant(0), value);
  }
};

class CrossEntropy : public LossKind {
 public:
  CrossEntropy() : LossKind("cross_entropy", "of logits against class ids, per row", BALEEN_KIND_REDUCTION) {
    operand("x", "logits: the last dimension is that of the classes");
    operand("target", "a class per row; one outside them is an error of the run", BALEEN_OPERAND_IDS);
    rows_of_results();
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    BALEEN_TRY(check_least_rank("cross_entropy", {"x", x}, 1));
    BALEEN_TRY(check_rows("cross_entropy", input, {"target"}, 1));
    return Types{row(x), row(x)};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    BALEEN_TRY(only_first_result("cross_entropy", "lse", cotangents));
    const OpNode node = OpNode::of(graph, op);
    const Values inputs{node.inputs[0], node.inputs[1], node.outputs[1], cotangents[0]};
    return Values{graph.append("cross_entropy_grad", inputs, node.attributes), BALEEN_NONE};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.rank(0)), rows = all.substr(0, all.size() - 1);
    return {{all, rows}, {rows, rows}, {}, {{all.back(), rows, statistics(op.op())}}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(5); }

  /// lse = m + log sum exp(x - m); loss = lse - (1 - s) x[target] - s mean(x).
  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const Options options(*graph.op(op));
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const baleen_value_t x = node.inputs[0], target = build.trail(node.inputs[1]);
    const baleen_dtype_t sums = build.dtype(node.outputs[0]);
    const Shape whole = build.shape(x), rows = build.shape(node.outputs[0]);
    const baleen_value_t largest = build.reduce_last("max", x);
    Expression power;
    const auto shifted = power.binary(BALEEN_X_SUB, power.input(0), power.input(1));
    const baleen_value_t powers = build.pointwise({x, largest}, power, power.unary(BALEEN_X_EXP, shifted), {}, sums);
    Expression log;
    const auto sum = log.unary(BALEEN_X_LOG, log.input(0));
    const baleen_value_t lse =
        build.pointwise({build.reduce_last("sum", powers), largest}, log, log.binary(BALEEN_X_ADD, sum, log.input(1)));
    const baleen_value_t chosen = chosen_logits(build, x, target, sums);
    Expression e;
    Values operands{lse, chosen, target};
    const double rest = 1 - options.smoothing;
    auto loss = e.binary(BALEEN_X_SUB, e.input(0), e.binary(BALEEN_X_MUL, e.constant(rest), e.input(1)));
    if (options.smoothing > 0) {
      operands.push_back(build.reduce_last("sum", x, sums));
      const auto share = e.constant(options.smoothing / static_cast<double>(whole.back()));
      loss = e.binary(BALEEN_X_SUB, loss, e.binary(BALEEN_X_MUL, share, e.input(3)));
    }
    loss = options.unless_ignored(e, e.input(2), loss);
    return Values{build.reshape(build.pointwise(operands, e, loss), rows), build.reshape(lse, rows)};
  }

  /// Over a plain projection whose logits nobody else reads: the logits then need never be held as a whole.
  Result<std::optional<Values>> fuse(FuseView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    const auto projection = graph.op(graph.value(node.inputs[0]).producer);
    if (!projection || projection->kind() != "matmul" || projection->inputs().size() != 2)
      return std::optional<Values>();
    if (!graph.is_read_once(node.inputs[0])) return std::optional<Values>();
    const auto spec = ContractionSpec::parse(std::string(projection->text("spec")));
    if (!spec || !spec->is_projection()) return std::optional<Values>();
    const Values inputs{projection->inputs()[0], projection->inputs()[1], node.inputs[1]};
    AttributeList attributes = node.attributes;
    attributes.integer("transposed", spec->is_transposed());
    return std::optional(graph.append("linear_cross_entropy", inputs, attributes, 2));
  }

 private:
  /// The logit of each row's target.
  static baleen_value_t chosen_logits(OpBuilder& build, baleen_value_t x, baleen_value_t target, baleen_dtype_t dtype) {
    const auto last = static_cast<std::uint32_t>(build.shape(x).size()) - 1;
    Expression pick;
    const auto hit = pick.binary(BALEEN_X_EQ, pick.input(1), pick.index(last));
    const auto picked = pick.select(hit, pick.input(0), pick.constant(0));
    return build.reduce_last("sum", build.pointwise({x, target}, pick, picked, {}, dtype));
  }
};
BALEEN_OP_KIND(CrossEntropy);

class CrossEntropyGrad : public LossKind {
 public:
  CrossEntropyGrad()
      : LossKind("cross_entropy_grad", "dloss (exp(x - lse) - (1 - s) [v = target] - s / V), s being `smoothing`",
                 BALEEN_KIND_DERIVED) {
    operand("x", "of cross_entropy");
    operand("target", "of cross_entropy", BALEEN_OPERAND_IDS);
    operand("lse", "of cross_entropy");
    operand("dloss", "a number per row");
    result("dx", "the shape and dtype of x");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    BALEEN_TRY(check_least_rank("cross_entropy_grad", {"x", x}, 1));
    BALEEN_TRY(check_rows("cross_entropy_grad", input, {"target", "lse", "dloss"}, 1));
    return Types{x};
  }

  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const std::string all = letters(OpReader(graph, op).rank(0)), rows = all.substr(0, all.size() - 1);
    return {{all, rows, rows, rows}, {all}, {{3}}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(4); }

  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const Options options(*graph.op(op));
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    const Shape whole = build.shape(node.inputs[0]);
    const double rest = 1 - options.smoothing;
    Expression e;
    const auto x = e.input(0), target = e.input(1), lse = e.input(2), dloss = e.input(3);
    const auto hit = e.binary(BALEEN_X_EQ, target, e.index(static_cast<std::uint32_t>(whole.size()) - 1));
    auto slope = e.unary(BALEEN_X_EXP, e.binary(BALEEN_X_SUB, x, lse));
    slope = e.binary(BALEEN_X_SUB, slope, e.select(hit, e.constant(rest), e.constant(0)));
    if (options.smoothing > 0)
      slope = e.binary(BALEEN_X_SUB, slope, e.constant(options.smoothing / static_cast<double>(whole.back())));
    const auto dx = options.unless_ignored(e, target, e.binary(BALEEN_X_MUL, dloss, slope));
    const Values operands{node.inputs[0], build.trail(node.inputs[1]), build.trail(node.inputs[2]),
                          build.trail(node.inputs[3])};
    return Values{build.pointwise(operands, e, dx, {}, build.dtype(node.outputs[0]))};
  }
};
BALEEN_OP_KIND(CrossEntropyGrad);

}  // namespace
}  // namespace baleen::ops
