/// \file `cumsum`: running sums along a dimension.
#include "baleen/op_kind.hpp"

namespace baleen::ops {
namespace {

class Cumsum : public sdk::OpKind {
 public:
  Cumsum() : OpKind("cumsum", "y[.., i, ..] = the sum of x[.., j, ..] over j <= i (reverse: over j >= i)") {
    operand("x", "any shape");
    result("y", "the shape and dtype of x");
    attribute(BALEEN_RULE_DIMENSION, "dim", "", "along which it sums");
    attribute(BALEEN_RULE_BOOLEAN, "reverse", "false", "from the end");
  }

  Result<std::vector<sdk::ValueType>> infer(const sdk::InferInput& input) override {
    return std::vector{input.type(0)};
  }

  /// dx is the running sum of dy from the other end.
  Result<std::vector<baleen_value_t>> gradient(GraphView& graph, baleen_op_t op,
                                               std::span<const baleen_value_t> cotangents,
                                               std::span<const std::uint8_t>) override {
    const Op self = *graph.op(op);
    AttributeList attributes;
    attributes.integer("dim", self.integer("dim")).integer("reverse", 1 - self.integer("reverse"));
    return std::vector{graph.append("cumsum", {cotangents[0]}, attributes)};
  }

  /// Every dimension may be cut but the one that is summed along.
  sdk::Iteration iteration(GraphView& graph, baleen_op_t op) override {
    const Op self = *graph.op(op);
    const auto dim = static_cast<std::size_t>(self.integer("dim"));
    std::string letters;
    for (std::uint32_t d = 0; d < graph.value(self.inputs()[0]).rank; ++d)
      letters += d == dim ? '.' : static_cast<char>('a' + d);
    return {{letters}, {letters}, {{0}}};
  }

  sdk::Cost cost(GraphView& graph, baleen_op_t op) override {
    const baleen_value_info_t x = graph.value(graph.op(op)->inputs()[0]);
    double elements = 1;
    for (std::uint32_t d = 0; d < x.rank; ++d) elements *= static_cast<double>(x.shape[d]);
    return {elements, 2 * elements * static_cast<double>(dtype_size(x.dtype))};
  }

  /// y[i] = the sum over j of (j <= i ? x[j] : 0), for devices that have no kernel of their own.
  Result<std::vector<baleen_value_t>> expand(GraphView& graph, baleen_op_t op) override {
    const Op self = *graph.op(op);
    const baleen_value_t x = self.inputs()[0];
    const auto dim = static_cast<std::uint32_t>(self.integer("dim"));
    const bool reverse = self.integer("reverse") != 0;
    const baleen_value_info_t info = graph.value(x);
    if (info.rank == BALEEN_MAX_RANK)
      return unsupported("cumsum: a device without a kernel of its own needs one dimension more than the " +
                         std::to_string(BALEEN_MAX_RANK) + " that x has");
    std::vector<std::int64_t> once(info.shape, info.shape + info.rank), pairs = once;
    once.insert(once.begin() + dim, 1);
    pairs.insert(pairs.begin() + dim, info.shape[dim]);
    const baleen_value_t terms = graph.append("reshape", {x}, AttributeList().integers("shape", once));
    const std::uint32_t i = 0, j = 1, zero = 4;
    AttributeList chosen;
    chosen.expression("expression", {{BALEEN_X_INDEX, dim, 0, 0, 0},
                                     {BALEEN_X_INDEX, dim + 1, 0, 0, 0},
                                     {BALEEN_X_LE, reverse ? i : j, reverse ? j : i, 0, 0},
                                     {BALEEN_X_INPUT, 0, 0, 0, 0},
                                     {BALEEN_X_CONSTANT, 0, 0, 0, 0},
                                     {BALEEN_X_SELECT, 2, 3, zero, 0}});
    chosen.integer("results", 5).integers("shape", pairs);
    AttributeList sum;
    sum.text("kind", "sum").integer("dims", dim + 1).integer("keep", 0);
    return std::vector{graph.append("reduce", {graph.append("pointwise", {terms}, chosen)}, sum)};
  }
};

BALEEN_OP_KIND(Cumsum);

}  // namespace
}  // namespace baleen::ops
