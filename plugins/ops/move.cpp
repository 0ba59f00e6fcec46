/// \file `copy` and `accumulate`.
#include <numeric>

#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {
using namespace sdk;

namespace {

/// Kinds that are the sum of their operands, element by element.
class SumKind : public OpKind {
 public:
  Result<Values> gradient(GraphView& graph, baleen_op_t op, Cotangents cotangents, Wanted wanted) override {
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    Values result(node.inputs.size(), BALEEN_NONE);
    for (std::size_t i = 0; i < result.size(); ++i)
      if (wanted[i] != 0) result[i] = build.cast(cotangents[0], build.dtype(node.inputs[i]));
    return result;
  }
  Iteration iteration(GraphView& graph, baleen_op_t id) override {
    const OpReader op(graph, id);
    const std::string all = letters(op.result_rank(0));
    std::vector<std::uint32_t> operands(op.operands());
    std::iota(operands.begin(), operands.end(), 0u);
    return {std::vector<std::string>(op.operands(), all), {all}, {std::move(operands)}, {}};
  }

 protected:
  SumKind(std::string name, std::string help)
      : OpKind(std::move(name), std::move(help), BALEEN_KIND_PURE | BALEEN_KIND_DERIVED) {}
};

class Copy : public SumKind {
 public:
  Copy() : SumKind("copy", "x, whatever its strides") {
    operand("x", "any shape and dtype", 0);
    result("y", "the type of x");
  }
  Result<Types> infer(const InferInput& input) override { return Types{input.type(0)}; }
};
BALEEN_OP_KIND(Copy);

class Accumulate : public SumKind {
 public:
  Accumulate() : SumKind("accumulate", "acc + x, which may lie where acc does") {
    operand("acc", "any shape");
    operand("x", "the shape of acc");
    result("y", "the type of acc");
  }
  Result<Types> infer(const InferInput& input) override {
    const ValueType& acc = input.type(0);
    BALEEN_TRY(check_shape("accumulate", {"x", input.type(1)}, acc.shape, {"acc", acc}));
    return Types{acc};
  }
  Cost cost(GraphView& graph, baleen_op_t op) override { return OpReader(graph, op).cost_per_element(1); }
  Result<Values> expand(GraphView& graph, baleen_op_t op) override {
    const OpNode node = OpNode::of(graph, op);
    OpBuilder build(graph);
    return Values{build.binary(BALEEN_X_ADD, node.inputs[0], node.inputs[1], build.dtype(node.outputs[0]))};
  }
};
BALEEN_OP_KIND(Accumulate);

}  // namespace
}  // namespace baleen::ops
