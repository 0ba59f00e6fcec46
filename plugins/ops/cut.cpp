/// \file `slice`, `concat` and `pad`: tensors cut and joined along one dimension.
#include <numeric>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

std::size_t dim_of(const Op& op) { return static_cast<std::size_t>(op.integer("dim")); }

baleen_value_t slice_of(GraphView& graph, baleen_value_t x, std::int64_t dim, std::int64_t start, std::int64_t length) {
  return graph.append("slice", {x},
                      AttributeList().integer("dim", dim).integer("start", start).integer("length", length));
}

/// What the three have alike: `dim`, along which nothing is cut. They are jointly linear in all operands.
class AlongOne : public OpKind {
 public:
  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    std::string all = letters(op.result_rank(0));
    all[dim_of(op.op())] = '.';
    std::vector<std::uint32_t> operands(op.operands());
    std::iota(operands.begin(), operands.end(), 0u);
    return {std::vector<std::string>(op.operands(), all), {all}, {std::move(operands)}, {}};
  }

 protected:
  AlongOne(std::string name, std::string help, std::string first)
      : OpKind(std::move(name), std::move(help), BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {
    operand("x", std::move(first), 0);
    result("y", "the dtype of x");
    attribute(BALEEN_RULE_DIMENSION, "dim", "", "along which");
  }
};

class Slice : public AlongOne {
 public:
  Slice() : AlongOne("slice", "a part along one dimension", "any shape and dtype") {
    attribute(BALEEN_RULE_INTEGER, "start", "", "the first of the part, counted from 0");
    attribute(BALEEN_RULE_INTEGER, "length", "", "how many");
  }

  Result<Types> infer(const InferInput& input) override {
    ValueType y = input.type(0);
    const std::size_t dim = dim_of(input.op());
    const std::int64_t start = input.op().integer("start"), length = input.op().integer("length");
    if (start < 0 || length < 0 || length > y.shape[dim] || start > y.shape[dim] - length)
      return invalid("slice: " + std::to_string(length) + " from " + std::to_string(start) + " of dimension " +
                     std::to_string(dim) + " reaches outside " + shape_text(y.shape));
    y.shape[dim] = length;
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const OpReader self(graph, op);
    const std::int64_t start = self.op().integer("start");
    const std::int64_t after = self.shape(0)[dim_of(self.op())] - start - self.op().integer("length");
    if (start == 0 && after == 0) return Values{cotangents[0]};
    AttributeList attributes;
    attributes.take(self.op(), "dim").integer("before", start).integer("after", after);
    return Values{graph.append("pad", {cotangents[0]}, attributes)};
  }
};
BALEEN_OP_KIND(Slice);

class Concat : public AlongOne {
 public:
  Concat() : AlongOne("concat", "several, one behind another along one dimension", "any shape and dtype") {
    operand("others", "of the dtype and shape of x, but along `dim`", BALEEN_OPERAND_MANY);
  }

  Result<Types> infer(const InferInput& input) override {
    ValueType y = input.type(0);
    const std::size_t along = dim_of(input.op());
    for (std::size_t i = 1; i < input.count(); ++i) {
      const ValueType& x = input.type(i);
      if (x.dtype != y.dtype)
        return invalid("concat: the first input is " + type_text(input.type(0)) + " and input " + std::to_string(i) +
                       " is " + type_text(x) + "; the dtypes must be equal");
      BALEEN_TRY(check_rank("concat", {"input " + std::to_string(i), x}, y.shape.size()));
      for (std::size_t d = 0; d < y.shape.size(); ++d)
        if (d != along && x.shape[d] != y.shape[d])
          return invalid("concat along dimension " + std::to_string(along) + ": dimension " + std::to_string(d) +
                         " is " + std::to_string(y.shape[d]) + " in the first input " +
                         shape_text(input.type(0).shape) + " and " + std::to_string(x.shape[d]) + " in input " +
                         std::to_string(i) + " " + shape_text(x.shape));
      y.shape[along] += x.shape[along];
    }
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    const OpNode node = OpNode::of(graph, op);
    const std::size_t dim = dim_of(*graph.op(op));
    Values result(node.inputs.size(), BALEEN_NONE);
    std::int64_t start = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const std::int64_t length = shape_of(graph, node.inputs[i])[dim];
      if (wanted[i] != 0) result[i] = slice_of(graph, cotangents[0], static_cast<std::int64_t>(dim), start, length);
      start += length;
    }
    return result;
  }
};
BALEEN_OP_KIND(Concat);

class Pad : public AlongOne {
 public:
  Pad() : AlongOne("pad", "zeros before and behind, along one dimension", "any shape and dtype") {
    attribute(BALEEN_RULE_INTEGER, "before", "", "how many");
    attribute(BALEEN_RULE_INTEGER, "after", "", "how many");
  }

  Result<Types> infer(const InferInput& input) override {
    ValueType y = input.type(0);
    const std::size_t dim = dim_of(input.op());
    const std::int64_t before = input.op().integer("before"), after = input.op().integer("after");
    if (before < 0 || after < 0)
      return invalid("pad: `before` is " + std::to_string(before) + " and `after` is " + std::to_string(after) +
                     "; neither may be negative");
    constexpr std::int64_t kMost = std::int64_t{1} << 60;
    if (before > kMost || after > kMost || y.shape[dim] > kMost)
      return invalid("pad: " + std::to_string(before) + " before and " + std::to_string(after) + " after dimension " +
                     std::to_string(dim) + " of " + shape_text(y.shape) + " are too many");
    y.shape[dim] += before + after;
    BALEEN_TRY(check_extents("pad", y.shape));
    return Types{y};
  }

  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted) override {
    const OpReader self(graph, op);
    const std::int64_t dim = self.op().integer("dim"), length = self.shape(0)[dim_of(self.op())];
    return Values{slice_of(graph, cotangents[0], dim, self.op().integer("before"), length)};
  }
};
BALEEN_OP_KIND(Pad);

}  // namespace
}  // namespace baleen::ops
