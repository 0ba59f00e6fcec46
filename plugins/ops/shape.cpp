/// \file `reshape` and `transpose`.
#include <numeric>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// Dimensions of two shapes with equal products that begin at the same element stride: where a dimension of the one
/// (or the outermost of several) starts a block that a dimension of the other starts too. Cutting both in n equal
/// parts, n dividing both extents, gives the same elements to each part.
struct BlockStart {
  std::size_t from, to;
};

std::vector<BlockStart> block_starts(const Shape& from, const Shape& to) {
  std::vector<BlockStart> starts;
  if (elements(from) == 0) return starts;
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < from.size() && from[i] == 1) ++i;
    while (j < to.size() && to[j] == 1) ++j;
    if (i == from.size() || j == to.size()) return starts;
    starts.push_back({i, j});
    std::int64_t left = from[i++], right = to[j++];
    while (left != right) (left < right ? left *= from[i++] : right *= to[j++]);
  }
}

class Reshape : public OpKind {
 public:
  Reshape()
      : OpKind("reshape", "the same elements in row-major order in another shape",
               BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("x", "any shape and dtype", 0);
    result("y", "`shape`; the dtype of x");
    attribute(BALEEN_RULE_INTEGERS, "shape", "", "with as many elements as x");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    const auto extents = input.op().integers("shape");
    const Shape shape(extents.begin(), extents.end());
    BALEEN_TRY(check_extents("reshape", shape));
    if (elements(shape) != elements(x.shape))
      return invalid("reshape: " + shape_text(x.shape) + " has " + std::to_string(elements(x.shape)) +
                     " elements and " + shape_text(shape) + " has " + std::to_string(elements(shape)));
    ValueType y{x.dtype, shape, std::vector<std::string>(shape.size())};
    for (const BlockStart& start : block_starts(x.shape, shape)) y.axes[start.to] = axis(x, start.from);
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const Shape x = OpReader(graph, op).shape(0);
    return Values{OpBuilder(graph).reshape(cotangents[0], x)};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const Shape from = op.shape(0), to = shape_of(graph, op.result(0));
    Iteration result{{std::string(from.size(), '.')}, {std::string(to.size(), '.')}, {{0}}, {}};
    char letter = 'a';
    for (const BlockStart& start : block_starts(from, to)) {
      if (std::gcd(from[start.from], to[start.to]) > 1)  // else no cut divides both
        result.inputs[0][start.from] = result.outputs[0][start.to] = letter;
      ++letter;
    }
    return result;
  }
};
BALEEN_OP_KIND(Reshape);

class Transpose : public OpKind {
 public:
  Transpose() : OpKind("transpose", "dimensions in another order", BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("x", "any shape and dtype", 0);
    result("y", "dimension i is x's dimension permutation[i]; the dtype of x");
    attribute(BALEEN_RULE_DIMENSIONS, "permutation", "", "each dimension of x once");
  }

  Result<Types> infer(const InferInput& input) override {
    const ValueType& x = input.type(0);
    const auto permutation = input.op().integers("permutation");
    if (permutation.size() != x.shape.size())
      return invalid("transpose: `permutation` " + shape_text(permutation) + " has " +
                     std::to_string(permutation.size()) + " entries, but the input " + shape_text(x.shape) + " has " +
                     std::to_string(x.shape.size()) + " dimensions");
    std::vector<bool> seen(x.shape.size(), false);
    ValueType y{x.dtype, {}, {}};
    for (const std::int64_t dim : permutation) {
      const auto d = static_cast<std::size_t>(dim);
      if (seen[d])
        return invalid("transpose: dimension " + std::to_string(dim) + " stands twice in `permutation` " +
                       shape_text(permutation));
      seen[d] = true;
      y.shape.push_back(x.shape[d]);
      y.axes.push_back(axis(x, d));
    }
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const Op self = *graph.op(op);
    const auto permutation = self.integers("permutation");
    std::vector<std::int64_t> inverse(permutation.size());
    for (std::size_t i = 0; i < permutation.size(); ++i)
      inverse[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
    return Values{graph.append("transpose", {cotangents[0]}, AttributeList().integers("permutation", inverse))};
  }

  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.rank(0));
    std::string out;
    for (const std::int64_t dim : op.op().integers("permutation")) out += all[static_cast<std::size_t>(dim)];
    return {{all}, {out}, {{0}}, {}};
  }
};
BALEEN_OP_KIND(Transpose);

}  // namespace
}  // namespace baleen::ops
