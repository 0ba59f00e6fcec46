/// \file The structure of the backward pass: sums, forward ops, names, what is not built. (Values:
/// tests/unit/compiler/ops/gradient_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/graph.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

class Autodiff : public testing::Test {
 protected:
  ValueId parameter(const std::string& name, const Shape& shape, std::vector<std::string> axes = {}) {
    return *graph_.parameter(name, {BALEEN_F64, shape, std::move(axes)});
  }
  ValueId sum(ValueId x) {
    std::vector<std::int64_t> dims;
    for (std::size_t d = 0; d < graph_.value(x).rank(); ++d) dims.push_back(static_cast<std::int64_t>(d));
    return *graph_.append1("reduce", {x}, {{"kind", "sum"}, {"dims", Attributes::ints(dims)}});
  }
  std::vector<ValueId> gradients(ValueId loss, const std::vector<ValueId>& targets) {
    auto made = differentiate(graph_, loss, *graph_.constant(1, BALEEN_F64), targets);
    EXPECT_TRUE(made) << made.error().text();
    const Status status = verify(graph_);
    EXPECT_TRUE(status) << status.error().text();
    return made ? *made : std::vector<ValueId>(targets.size(), kNone);
  }
  std::size_t count(const std::string& kind, Phase phase = Phase::backward) const {
    const auto ops = graph_.ops();
    return static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), [&](OpId id) {
      return graph_.op(id).phase == phase && graph_.op(id).kind->name == kind;
    }));
  }
  std::vector<double> run(ValueId value, const std::map<std::string, std::vector<double>>& data) const {
    test::ReferenceInterpreter interpreter(graph_);
    for (const auto& [name, numbers] : data) interpreter.set(name, numbers);
    interpreter.run();
    return interpreter.value(value).data;
  }

  Graph graph_{&test::builtin_ops()};
};

TEST_F(Autodiff, NewOpsAreBackwardWithTheirForwardTwinAndName) {
  graph_.context().name = "mlp.up";
  graph_.context().where = "train.lua:7";
  const ValueId w = parameter("w", {3, 4}), x = parameter("x", {2, 3});
  const ValueId y = *graph_.append1("matmul", {x, w}, {{"spec", "mk,kn->mn"}});
  graph_.context() = {};
  const OpId forward = graph_.value(y).producer;
  const ValueId dw = gradients(sum(y), {w})[0];
  const Op& op = *graph_.producer(dw);
  EXPECT_EQ(op.kind->name, "matmul");
  EXPECT_EQ(op.phase, Phase::backward);
  EXPECT_EQ(op.forward_op, forward);
  EXPECT_EQ(op.name, "mlp.up.grad");
  EXPECT_EQ(op.where, "train.lua:7");
  EXPECT_EQ(graph_.value(dw).role, Role::gradient);
  EXPECT_EQ(graph_.context().phase, Phase::forward) << "the context is put back";
}

TEST_F(Autodiff, BranchesThatNoTargetNeedsAreNotBuilt) {
  const ValueId w = parameter("w", {3, 4}), x = parameter("x", {2, 3});
  const ValueId y = *graph_.append1("matmul", {x, w}, {{"spec", "mk,kn->mn"}});
  gradients(sum(y), {w});
  EXPECT_EQ(count("matmul"), 1u);
}

TEST_F(Autodiff, AValueThatTheLossDoesNotDependOnHasNoGradient) {
  const ValueId w = parameter("w", {2}), other = parameter("other", {2});
  ASSERT_TRUE(graph_.unary(BALEEN_X_EXP, other));
  const auto made = gradients(sum(*graph_.unary(BALEEN_X_SIN, w)), {w, other});
  EXPECT_NE(made[0], kNone);
  EXPECT_EQ(made[1], kNone);
}

TEST_F(Autodiff, CotangentsAreSummedByOneOpInTheOrderOfTheUses) {
  const ValueId x = parameter("x", {2});
  const ValueId y = *graph_.unary(BALEEN_X_EXP, x);
  std::vector<ValueId> uses;
  for (std::uint32_t opcode : {BALEEN_X_SIN, BALEEN_X_COS, BALEEN_X_TANH}) uses.push_back(*graph_.unary(opcode, y));
  Expression e;
  auto total = e.input(0);
  for (std::uint32_t i = 1; i < 3; ++i) total = e.binary(BALEEN_X_ADD, total, e.input(i));
  const ValueId dx = gradients(sum(*graph_.pointwise(uses, e, total)), {x})[0];
  const Op& last = *graph_.producer(dx);  // exp's rule: dy * exp(x)
  const Op* adder = nullptr;
  for (ValueId input : last.inputs)
    if (const Op* op = graph_.producer(input); op && op->inputs.size() == 3) adder = op;
  ASSERT_NE(adder, nullptr);
  EXPECT_EQ(adder->kind->name, "pointwise");
  EXPECT_EQ(adder->forward_op, kNone) << "a sum takes part in no one op's layout";
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(graph_.op(graph_.producer(adder->inputs[i])->forward_op).outputs[0], uses[i]) << "term " << i;
  EXPECT_TRUE(std::is_sorted(adder->inputs.rbegin(), adder->inputs.rend())) << "later uses are visited first";
  const double v = std::exp(0.3);
  EXPECT_NEAR(run(dx, {{"x", {0.3, 0.3}}})[0], v * (std::cos(v) - std::sin(v) + 1 - std::tanh(v) * std::tanh(v)),
              1e-12);
}

TEST_F(Autodiff, SlicesThatTileAValueGiveOneConcatAndNoPads) {
  const ValueId x = parameter("qkv", {2, 6}, {"batch", "ff"});
  std::vector<ValueId> parts;
  for (const auto& [start, length] : {std::pair<std::int64_t, std::int64_t>{3, 1}, {0, 3}, {4, 2}})
    parts.push_back(*graph_.append1("slice", {x},
                                    {{"dim", Attributes::ints({1})},
                                     {"start", Attributes::ints({start})},
                                     {"length", Attributes::ints({length})}}));
  ValueId loss = kNone;
  const std::uint32_t opcodes[] = {BALEEN_X_SIN, BALEEN_X_EXP, BALEEN_X_TANH};
  for (std::size_t i = 0; i < 3; ++i) {
    const ValueId term = sum(*graph_.unary(opcodes[i], parts[i]));
    loss = loss == kNone ? term : *graph_.binary(BALEEN_X_ADD, loss, term);
  }
  const ValueId dx = gradients(loss, {x})[0];
  EXPECT_EQ(graph_.producer(dx)->kind->name, "concat");
  EXPECT_EQ(count("pad"), 0u);
  EXPECT_EQ(graph_.value(dx).axes, (std::vector<std::string>{"batch", "ff"}));
  const auto slope = run(dx, {{"qkv", std::vector<double>(12, 0.5)}});
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t column = i % 6;
    const double expected = column < 3 ? std::exp(0.5) : column < 4 ? std::cos(0.5) : 1 - std::pow(std::tanh(0.5), 2);
    EXPECT_NEAR(slope[i], expected, 1e-12) << i;
  }
}

TEST_F(Autodiff, SlicesThatOverlapOrLeaveGapsAreSummed) {
  for (std::int64_t second : {1, 3}) {  // overlapping [0, 2) by one; leaving a gap of one
    const ValueId x = parameter("x" + std::to_string(second), {4});
    ValueId loss = kNone;
    for (std::int64_t start : {std::int64_t{0}, second}) {
      const ValueId part = *graph_.append1("slice", {x},
                                           {{"dim", Attributes::ints({0})},
                                            {"start", Attributes::ints({start})},
                                            {"length", Attributes::ints({start == 3 ? 1 : 2})}});
      const ValueId term = sum(*graph_.unary(start ? BALEEN_X_EXP : BALEEN_X_SIN, part));
      loss = loss == kNone ? term : *graph_.binary(BALEEN_X_ADD, loss, term);
    }
    const ValueId dx = gradients(loss, {x})[0];
    EXPECT_EQ(graph_.producer(dx)->kind->name, "pointwise");
    EXPECT_EQ(count("concat"), 0u);
  }
}

TEST_F(Autodiff, ATiedWeightSumsTheGradientsOfItsUses) {
  const ValueId w = parameter("w", {3, 3}), x = parameter("x", {2, 3});
  const ValueId once = *graph_.append1("matmul", {x, w}, {{"spec", "mk,kn->mn"}});
  const ValueId twice = *graph_.append1("matmul", {once, w}, {{"spec", "mk,nk->mn"}});
  const ValueId dw = gradients(sum(twice), {w})[0];
  ASSERT_EQ(graph_.producer(dw)->inputs.size(), 2u);
  EXPECT_EQ(graph_.value(dw).role, Role::gradient);
}

TEST_F(Autodiff, IntegersCarryNoCotangent) {
  const ValueId table = parameter("table", {5, 2});
  const auto chosen = *graph_.append("top_k", {table}, {{"k", Attributes::ints({1})}});
  const ValueId ids = *graph_.append1("reshape", {chosen[1]}, {{"shape", Attributes::ints({5})}});
  const ValueId rows = *graph_.append1("embedding", {table, ids});
  gradients(sum(rows), {table});
  EXPECT_EQ(count("embedding_grad"), 1u);
  for (OpId id : graph_.ops())
    for (ValueId output : graph_.op(id).outputs)
      EXPECT_TRUE(graph_.op(id).phase == Phase::forward || graph_.value(output).dtype == BALEEN_F64);
}

TEST_F(Autodiff, TheGradientOfAnEmbeddingHasTheTablesAxes) {
  const ValueId table = parameter("table", {5, 2}, {"vocab", "width"});
  const ValueId ids = *graph_.input("ids", {BALEEN_I32, {3}, {"batch"}});
  const ValueId d = gradients(sum(*graph_.append1("embedding", {table, ids})), {table})[0];
  EXPECT_EQ(graph_.value(d).axes, (std::vector<std::string>{"vocab", "width"}));
}

TEST_F(Autodiff, TheLossItselfHasTheSeedAsGradient) {
  const ValueId x = parameter("x", {});
  const ValueId seed = *graph_.constant(3, BALEEN_F64);
  EXPECT_EQ((*differentiate(graph_, x, seed, {x}))[0], seed);
}

TEST_F(Autodiff, RefusesALossThatIsNoScalar) {
  const ValueId x = parameter("x", {2});
  const auto made = differentiate(graph_, x, *graph_.constant(1, BALEEN_F64), {x});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "the loss must be a scalar; it is fp64 [2]");
}

TEST_F(Autodiff, NamesAnOpWithoutAGradient) {
  const ValueId x = parameter("x", {2});
  graph_.context().name = "blocks.0";
  graph_.context().where = "train.lua:3";
  const ValueId y = *graph_.append1("accumulate_micro", {x});
  graph_.context() = {};
  const auto made = differentiate(graph_, sum(y), *graph_.constant(1, BALEEN_F64), {x});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text(),
            "train.lua:3: blocks.0: the loss depends on this accumulate_micro, which has no gradient");
}

}  // namespace
}  // namespace baleen
