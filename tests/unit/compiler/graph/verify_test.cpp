/// \file Each invariant of a graph, broken by hand, is caught.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ops/ops.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

class GraphVerify : public testing::Test {
 protected:
  GraphVerify() {
    w_ = *graph_.parameter("w", {BALEEN_F32, {3, 4}, {}});
    x_ = *graph_.input("x", {BALEEN_F32, {2, 3}, {"batch", ""}});
    graph_.context().name = "linear";
    y_ = *graph_.append1("matmul", {x_, w_}, {{"spec", "mk,kn->mn"}});
    z_ = *graph_.unary(BALEEN_X_GELU, y_);
    graph_.set_output("z", z_);
  }

  Op& op(ValueId value) { return graph_.op(graph_.value(value).producer); }

  void expect_fault(const std::string& part) {
    const Status status = verify(graph_);
    ASSERT_FALSE(status) << "nothing found; wanted: " << part;
    EXPECT_EQ(status.error().code, BALEEN_INTERNAL);
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }

  Graph graph_{&test::builtin_ops()};
  ValueId w_ = kNone, x_ = kNone, y_ = kNone, z_ = kNone;
};

TEST_F(GraphVerify, AGoodGraphPasses) {
  const Status status = verify(graph_);
  EXPECT_TRUE(status) << status.error().text();
}

TEST_F(GraphVerify, AnOpWithoutAKind) {
  op(y_).kind = nullptr;
  expect_fault("it has no kind");
}

TEST_F(GraphVerify, AKindOfAnotherRegistry) {
  OpRegistry other;
  ASSERT_TRUE(other.add(*op(y_).kind));
  op(y_).kind = other.find("matmul");
  expect_fault("not of the graph's registry");
}

TEST_F(GraphVerify, AnOperandThatDoesNotExist) {
  op(z_).inputs[0] = 999;
  expect_fault("operand %999 does not exist");
}

TEST_F(GraphVerify, AnOperandThatComesLater) {
  op(y_).inputs[0] = z_;
  expect_fault("operand %" + std::to_string(z_) + " is made only after it");
}

TEST_F(GraphVerify, AnOperandOfADeadOp) {
  graph_.erase(op(y_).id);
  expect_fault("operand %" + std::to_string(y_) + " is of a dead op");
}

TEST_F(GraphVerify, AResultThatIsNotTheOps) {
  graph_.value(y_).producer = op(z_).id;
  expect_fault("says that it is result 0 of op " + std::to_string(op(z_).id));
}

TEST_F(GraphVerify, AResultOfTheWrongNumber) {
  graph_.value(y_).result = 1;
  expect_fault("says that it is result 1");
}

TEST_F(GraphVerify, AShapeThatTheRuleDoesNotGive) {
  graph_.value(y_).shape = {2, 5};
  expect_fault("is [2, 5]; its rule gives [2, 4]");
}

TEST_F(GraphVerify, ADtypeThatTheRuleDoesNotGive) {
  graph_.value(y_).dtype = BALEEN_F64;
  expect_fault("the dtypes differ");
}

TEST_F(GraphVerify, AttributesThatTheRuleRefuses) {
  op(y_).attributes.set("spec", std::string("mk,kn->mx"));
  expect_fault("letter x of the result is in no input");
}

TEST_F(GraphVerify, MoreResultsThanTheRuleGives) {
  op(z_).outputs.clear();
  expect_fault("it has 0 results; its rule gives 1");
}

TEST_F(GraphVerify, AUserThatIsNotListed) {
  graph_.value(y_).users.clear();
  expect_fault("the users of result %" + std::to_string(y_));
}

TEST_F(GraphVerify, AUserThatReadsSomethingElse) {
  graph_.value(w_).users.push_back(op(z_).id);
  expect_fault("the users of result %" + std::to_string(w_));
}

TEST_F(GraphVerify, TooFewAxisNames) {
  graph_.value(y_).axes.edit().pop_back();
  expect_fault("has 1 axis names for 2 dimensions");
}

TEST_F(GraphVerify, ALayoutForAnotherMesh) {
  graph_.value(y_).layout = {Placement::replicate()};
  expect_fault("1 placements for 0 mesh axes");
}

TEST_F(GraphVerify, ALayoutThatCutsNoDimension) {
  graph_.set_mesh({{{"data", 2}}});
  graph_.value(y_).layout = {Placement::shard(2)};
  expect_fault("cuts dimension 2");
}

TEST_F(GraphVerify, AnAttributeThatHasChangedSinceTheRuleAgreed) {
  const ValueId t = *graph_.append1("transpose", {y_}, {{"permutation", Attributes::ints({1, 0})}});
  ASSERT_TRUE(verify(graph_));
  op(t).attributes.set("permutation", Attributes::ints({0, 1}));
  expect_fault("is [4, 2]; its rule gives [2, 4]");
}

TEST_F(GraphVerify, ARuleIsAskedAgainOnlyWhereItsInputsChanged) {
  int asked = 0;
  OpKind kind;
  kind.name = "counted";
  kind.infer = [&](const InferContext& context) -> Result<std::vector<ValueType>> {
    ++asked;
    return context.inputs;
  };
  OpRegistry registry;
  ASSERT_TRUE(register_builtin_ops(registry));
  ASSERT_TRUE(registry.add(std::move(kind)));
  Graph graph(&registry);
  const ValueId x = *graph.input("x", {BALEEN_F32, {2}, {}}), y = *graph.append1("counted", {x});
  graph.set_output("y", y);
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(verify(graph));
  const Graph copy = graph;
  ASSERT_TRUE(verify(copy));
  EXPECT_EQ(asked, 1);
  graph.op(graph.value(y).producer).attributes.set("more", Attributes::ints({1}));
  ASSERT_TRUE(verify(graph));
  ASSERT_TRUE(verify(graph));
  EXPECT_EQ(asked, 2);
  graph.value(x).axes = std::vector<std::string>{"batch"};
  ASSERT_TRUE(verify(graph));
  EXPECT_EQ(asked, 3);
}

TEST_F(GraphVerify, TwoAssignsOfOneTarget) {
  const ValueId a = *graph_.unary(BALEEN_X_EXP, w_), b = *graph_.unary(BALEEN_X_SIN, w_);
  ASSERT_TRUE(graph_.assign(w_, a));
  EXPECT_TRUE(verify(graph_));
  ASSERT_TRUE(graph_.assign(w_, b));
  expect_fault("`w` is assigned twice");
}

TEST_F(GraphVerify, AnAssignOfAnActivation) {
  ASSERT_TRUE(graph_.assign(y_, z_));
  expect_fault("is neither a parameter nor a state");
}

TEST_F(GraphVerify, AnOutputOfADeadOp) {
  graph_.erase(op(z_).id);
  expect_fault("output `z` is %" + std::to_string(z_) + ", which no live op makes");
}

TEST_F(GraphVerify, ATwinThatDoesNotExist) {
  op(z_).forward_op = 999;
  expect_fault("its forward op 999 does not exist");
}

TEST_F(GraphVerify, TwoSourcesOfOneName) {
  const ValueId v = *graph_.parameter("v", {BALEEN_F32, {1}, {}});
  op(v).attributes.set("name", std::string("w"));
  expect_fault("a source needs a name of its own");
}

/// A later op that nobody needs yet would come last.
TEST_F(GraphVerify, WhatAnOpWasRedirectedToTakesItsPlace) {
  const ValueId early = *graph_.unary(BALEEN_X_EXP, w_), late = *graph_.unary(BALEEN_X_SIN, z_);
  graph_.set_output("late", late);
  const ValueId sum = *graph_.binary(BALEEN_X_ADD, early, w_);
  graph_.set_output("sum", sum);
  const std::vector<OpId> old = graph_.ops();
  const ValueId other = *graph_.unary(BALEEN_X_COS, w_), kept = *graph_.unary(BALEEN_X_TANH, w_);
  ASSERT_TRUE(graph_.redirect(early, other));
  graph_.set_output("kept", kept);
  ASSERT_TRUE(graph_.order_by_need(old));
  const std::vector<OpId> order = graph_.ops();
  const auto place = [&](ValueId value) {
    return std::find(order.begin(), order.end(), graph_.value(value).producer) - order.begin();
  };
  EXPECT_EQ(place(other), place(early) + 1);
  EXPECT_LT(place(other), place(late));
  EXPECT_GT(place(kept), place(sum));
}

TEST_F(GraphVerify, WhatIsPlacedBehindAnOpStandsThere) {
  const ValueId early = *graph_.unary(BALEEN_X_EXP, w_), late = *graph_.unary(BALEEN_X_SIN, z_);
  graph_.set_output("early", early);
  graph_.set_output("late", late);
  const std::vector<OpId> old = graph_.ops();
  const ValueId read = *graph_.unary(BALEEN_X_TANH, early), other = *graph_.unary(BALEEN_X_COS, read);
  graph_.set_output("other", other);
  graph_.place_behind(graph_.value(read).producer, graph_.value(early).producer);
  ASSERT_TRUE(graph_.order_by_need(old));
  const std::vector<OpId> order = graph_.ops();
  const auto place = [&](ValueId value) {
    return std::find(order.begin(), order.end(), graph_.value(value).producer) - order.begin();
  };
  EXPECT_EQ(place(read), place(early) + 1);
  EXPECT_GT(place(other), place(late));
}

}  // namespace
}  // namespace baleen
