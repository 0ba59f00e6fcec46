/// \file Fused forms that kinds offer: taken where nobody else reads what disappears, with the same results.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

std::ptrdiff_t count(const Graph& graph, const std::string& kind) {
  const auto ops = graph.ops();
  return std::count_if(ops.begin(), ops.end(), [&](OpId id) { return graph.op(id).kind->name == kind; });
}

Graph rewritten(Graph graph) {
  if (Status ok = fuse_kinds(graph); !ok) throw std::runtime_error(ok.error().text());
  if (Status ok = verify(graph); !ok) throw std::runtime_error(ok.error().text());
  return graph;
}

TEST(PlanRewrite, ALossOverAProjectionBecomesTheFusedLoss) {
  const Graph before = gpt_job(4).train(), after = rewritten(before);
  ASSERT_EQ(count(before, "cross_entropy"), 1);
  EXPECT_EQ(count(after, "cross_entropy"), 0);
  EXPECT_EQ(count(after, "linear_cross_entropy"), 1);
  EXPECT_EQ(count(after, "matmul"), count(before, "matmul") - 1) << "the logits are never made";
  expect_computes(cut_and_schedule(after, 1), before);
}

TEST(PlanRewrite, LogitsThatOthersReadAreKept) {
  for (const bool as_output : {true, false}) {
    Job job = gpt_job(4);
    Graph& graph = job.train();
    for (OpId id : graph.ops())
      if (const Op op = graph.op(id); op.kind->name == "cross_entropy")
        graph.set_output("logits", as_output ? op.inputs[0] : *graph.unary(BALEEN_X_TANH, op.inputs[0]));
    const Graph after = rewritten(graph);
    EXPECT_EQ(count(after, "linear_cross_entropy"), 0);
    EXPECT_EQ(count(after, "cross_entropy"), 1);
  }
}

TEST(PlanRewrite, WhatOffersNoFusedFormStays) {
  const Graph before = affine_job(4).train();
  EXPECT_EQ(hash(rewritten(before)), hash(before));
}

}  // namespace
}  // namespace baleen::test
