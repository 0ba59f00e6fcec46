/// \file One op for a loss and its gradient: where they meet, with the same results, in loops over micro-batches too.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/plan/passes.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

std::ptrdiff_t count(const Graph& graph, const std::string& kind) {
  const auto ops = graph.ops();
  return std::count_if(ops.begin(), ops.end(), [&](OpId id) { return graph.op(id).kind->name == kind; });
}

Graph joined(Graph graph, std::int64_t micro_batches) {
  for (const Status& done : {shard_micro(graph, micro_batches), join_kinds(graph), verify(graph)})
    if (!done) throw std::runtime_error(done.error().text());
  return graph;
}

ScheduledGraph scheduled(const Graph& graph, std::int64_t micro_batches) {
  auto made = schedule_loops(joined(graph, micro_batches), micro_batches);
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(*made);
}

Graph gpt() {
  auto made = train_graph(gpt_job(4));
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(made->graph);
}

TEST(PlanJoin, ALossAndItsGradientBecomeOneOp) {
  const Graph before = gpt(), after = joined(before, 1);
  ASSERT_EQ(count(before, "linear_cross_entropy_grad"), 1);
  EXPECT_EQ(count(after, "linear_cross_entropy"), 0);
  EXPECT_EQ(count(after, "linear_cross_entropy_grad"), 0);
  EXPECT_EQ(count(after, "linear_cross_entropy_and_grad"), 1);
}

TEST(PlanJoin, TrainingComputesTheSame) {
  const Graph graph = gpt();
  for (const std::int64_t micro_batches : {1, 2, 4}) {
    SCOPED_TRACE(micro_batches);
    expect_computes(scheduled(graph, micro_batches), graph);
  }
}

/// Sections run forward, backward, update: what reads the loss may not stay in the first.
TEST(PlanJoin, WhatReadsTheLossMovesWithIt) {
  const Graph after = joined(gpt(), 1);
  const Op* reader = after.producer(after.output("loss"));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->phase, Phase::backward);
}

TEST(PlanJoin, AGradientThatDependsOnTheLossStaysApart) {
  Graph graph = gpt();
  for (OpId id : graph.ops()) {
    const Op op = graph.op(id);
    if (op.kind->name != "linear_cross_entropy_grad") continue;
    const ValueId loss = graph.producer(op.inputs[3])->outputs[0];
    graph.context().phase = Phase::backward;
    ASSERT_TRUE(graph.set_input(id, 4, *graph.binary(BALEEN_X_MUL, op.inputs[4], loss)));
  }
  ASSERT_TRUE(graph.normalise());
  const Graph after = joined(graph, 1);
  EXPECT_EQ(count(after, "linear_cross_entropy"), 1);
  EXPECT_EQ(count(after, "linear_cross_entropy_grad"), 1);
}

TEST(PlanJoin, WhatAStrategySetsApartStaysApart) {
  Graph graph = gpt();
  for (OpId id : graph.ops())
    if (graph.op(id).kind->name == "linear_cross_entropy") graph.op(id).schedule.edit().no_fuse = true;
  EXPECT_EQ(count(joined(graph, 1), "linear_cross_entropy_and_grad"), 0);
}

}  // namespace
}  // namespace baleen::test
