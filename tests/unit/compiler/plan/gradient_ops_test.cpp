/// \file Ops between a gradient and its sum: which of them belong to the backward pass, and where they stand there.
#include <gtest/gtest.h>

#include "compiler/plan/passes.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

class GradientOps : public testing::Test {
 protected:
  GradientOps() : graph_(job_.train()), gradients_(*differentiate_loss(graph_, job_)) {
    first_ = static_cast<OpId>(graph_.op_count());
    graph_.context() = {Phase::update, kNone, "member", {}};
  }
  ValueId scaled(ValueId v, double factor) {
    Expression code;
    const auto result = code.binary(BALEEN_X_MUL, code.input(0), code.constant(factor));
    return *graph_.append1("pointwise", {v},
                           {{"expression", std::move(code)}, {"results", Attributes::ints({result})}});
  }
  ValueId& gradient(std::size_t number) { return gradients_.all[number].gradient; }
  void hasten() {
    const Status status = hasten_gradient_ops(graph_, first_, gradients_);
    ASSERT_TRUE(status) << status.error().text();
  }
  Phase phase(ValueId v) { return graph_.producer(v)->phase; }
  std::size_t place(ValueId v) {
    const std::vector<OpId> ops = graph_.ops();
    return static_cast<std::size_t>(std::ranges::find(ops, graph_.value(v).producer) - ops.begin());
  }

  Job job_ = affine_job(4);
  Graph graph_;
  LossGradients gradients_;
  OpId first_ = 0;
};

TEST_F(GradientOps, WhatCommutesWithSumsStandsBehindItsOperand) {
  const ValueId before = gradient(0), twice = scaled(before, 2), half = scaled(twice, 0.25);
  gradient(0) = half;
  hasten();
  EXPECT_EQ(phase(twice), Phase::backward);
  EXPECT_EQ(phase(half), Phase::backward);
  EXPECT_EQ(place(twice), place(before) + 1);
  EXPECT_EQ(place(half), place(before) + 2);
}

TEST_F(GradientOps, SoDoesWhatFollowsAnOpOfTheBackwardPass) {
  const ValueId before = gradient(1);
  graph_.context().phase = Phase::backward;
  gradient(1) = scaled(before, 2);
  hasten();
  EXPECT_EQ(place(gradient(1)), place(before) + 1);
}

TEST_F(GradientOps, NothingElseMoves) {
  const ValueId square = *graph_.binary(BALEEN_X_MUL, gradient(0), gradient(0)), of_square = scaled(square, 2);
  const ValueId behind = scaled(gradient(1), 3);  // what the optimizer reads
  gradient(0) = of_square;
  gradients_.all[1].value = behind;
  const std::vector<OpId> ops = graph_.ops();
  hasten();
  for (const ValueId v : {square, of_square, behind}) EXPECT_EQ(phase(v), Phase::update);
  EXPECT_EQ(graph_.ops(), ops);
}

}  // namespace
}  // namespace baleen::test
