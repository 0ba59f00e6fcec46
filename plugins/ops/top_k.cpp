/// \file `top_k`: the largest elements of the last dimension.
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

class TopK : public OpKind {
 public:
  TopK() : OpKind("top_k", "the largest elements of the last dimension, descending; of equal ones the lower id first") {
    operand("x", "at least one dimension");
    result("values", "`k` along the last dimension; the dtype of x");
    result("ids", "where they stand; int32");
    attribute(BALEEN_RULE_INTEGER, "k", "", "how many");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    BALEEN_TRY(check_least_rank("top_k", {"x", x}, 1));
    const std::int64_t k = input.op().integer("k");
    if (k < 1 || k > x.shape.back())
      return invalid("top_k: `k` is " + std::to_string(k) + "; the last dimension of " + shape_text(x.shape) +
                     " allows 1 to " + std::to_string(x.shape.back()));
    ValueType values = x;
    values.shape.back() = k;
    if (!values.axes.empty()) values.axes.back() = "";
    return Types{values, same_but(values, BALEEN_I32)};
  }

  /// dx[v] = sum over k of dvalues[k] [ids[k] = v].
  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    if (cotangents[0] == BALEEN_NONE) return Values{BALEEN_NONE};
    const std::int64_t k = graph.op(op)->integer("k");
    const OpNode node = OpNode::of(graph, op);
    const Shape x = shape_of(graph, node.inputs[0]);
    if (x.size() + 1 > BALEEN_MAX_RANK)
      return unsupported("top_k: the gradient of an input of shape " + shape_text(x) +
                         " needs one dimension more than " + std::to_string(BALEEN_MAX_RANK));
    Shape whole = x;
    whole.insert(whole.end() - 1, k);
    const auto last = static_cast<std::uint32_t>(x.size());
    OpBuilder build(graph);
    Expression e;
    const auto hit = e.binary(BALEEN_X_EQ, e.input(0), e.index(last));
    const auto part = e.select(hit, e.input(1), e.constant(0));
    const baleen_value_t spread =
        build.pointwise({build.trail(node.outputs[1]), build.trail(cotangents[0])}, e, part, whole);
    return Values{build.reduce("sum", spread, {static_cast<std::int64_t>(last) - 1}, false)};
  }

  Iteration iteration(GraphView& graph, baleen_op_t op) override {
    std::string rows = letters(OpReader(graph, op).rank(0));
    rows.back() = '.';
    return {{rows}, {rows, rows}, {}, {}};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(1); }
};
BALEEN_OP_KIND(TopK);

}  // namespace
}  // namespace baleen::ops
