/// \file `reduce`: sums and maxima over dimensions.
#include <algorithm>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

class Reduce : public OpKind {
 public:
  Reduce()
      : OpKind("reduce", "sums and maxima over dimensions",
               BALEEN_KIND_PURE | BALEEN_KIND_REDUCTION | BALEEN_KIND_TYPED | BALEEN_KIND_DERIVED) {
    operand("x", "any shape");
    result("y", "x without `dims`, or with extents of 1 there; the dtype of x");
    choice("kind", "", "sum|max", "what is left of the elements");
    attribute(BALEEN_RULE_DIMENSIONS, "dims", "", "over which it goes");
    optional_attribute(BALEEN_RULE_BOOLEAN, "keep", "the dimensions stay, with extent 1");
    typed();
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    const Op op = input.op();
    std::vector<bool> gone(x.shape.size(), false);
    for (const std::int64_t dim : op.integers("dims")) {
      if (gone[static_cast<std::size_t>(dim)])
        return invalid("reduce: dimension " + std::to_string(dim) + " stands twice in `dims`");
      gone[static_cast<std::size_t>(dim)] = true;
    }
    if (op.text("kind") == "max" && elements(x.shape) == 0)
      return invalid("reduce: the maximum of no elements, in " + shape_text(x.shape));
    BALEEN_TRY_ASSIGN(const baleen_dtype_t dtype, chosen_dtype("reduce", input.dtype(), x.dtype));
    ValueType y{dtype, {}, {}};
    for (std::size_t d = 0; d < x.shape.size(); ++d) {
      if (gone[d] && !keeps(op)) continue;
      y.shape.push_back(gone[d] ? 1 : x.shape[d]);
      y.axes.push_back(gone[d] ? "" : axis(x, d));
    }
    return Types{y};
  }

  /// Of a sum: the cotangent, broadcast. Of a maximum: shared equally among the elements that reach it.
  Result<Values> gradient(GraphView& graph, baleen_op_t id, Cotangents cotangents, Wanted) override {
    const OpNode node = OpNode::of(graph, id);
    const Op op = *graph.op(id);
    const bool sum = op.text("kind") == "sum";
    const std::vector<std::int64_t> dims(op.integers("dims").begin(), op.integers("dims").end());
    OpBuilder build(graph);
    const baleen_value_t x = node.inputs[0];
    const Shape whole = build.shape(x);
    const baleen_dtype_t dtype = build.dtype(x);
    Shape kept = whole;
    for (const std::int64_t dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
    const baleen_value_t dy = build.reshape(cotangents[0], kept);
    Expression e;
    if (sum) {
      if (kept == whole) return Values{build.cast(dy, dtype)};
      return Values{build.pointwise({dy}, e, e.input(0), whole, dtype)};
    }
    const baleen_value_t y = build.reshape(node.outputs[0], kept);
    const baleen_value_t hits = build.binary(BALEEN_X_EQ, x, y);
    const baleen_value_t count = build.reduce("sum", hits, dims, true, wide(dtype));
    const auto hit = e.input(0);
    const auto share = e.binary(BALEEN_X_DIV, e.input(1), e.input(2));
    const auto dx = e.select(hit, share, e.constant(0));
    return Values{build.pointwise({hits, dy, count}, e, dx, whole, dtype)};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.rank(0));
    std::string out, over;
    for (std::size_t d = 0; d < all.size(); ++d) {
      if (!goes_over(op.op(), d)) {
        over += all[d];
        out += all[d];
      } else if (keeps(op.op())) {
        out += '.';
      }
    }
    Iteration result{{all}, {out}, {}, {}};
    if (op.op().text("kind") == "sum") {
      result.linear = {{0}};
      return result;
    }
    for (std::size_t d = 0; d < all.size(); ++d)
      if (goes_over(op.op(), d)) result.internal.push_back({all[d], over, 1});
    return result;
  }

  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(1); }

 private:
  static bool goes_over(const Op& op, std::size_t dim) {
    const auto dims = op.integers("dims");
    return std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(dim)) != dims.end();
  }
  static bool keeps(const Op& op) { return op.integer("keep", 0) != 0; }
};
BALEEN_OP_KIND(Reduce);

}  // namespace
}  // namespace baleen::ops
