/// \file What the strategy `precision` makes of a graph: which values have 16 bits, compute copies of parameters,
/// gradients through casts.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/placement/passes.hpp"
#include "compiler/plan/strategies.hpp"
#include "support/op_cases.hpp"
#include "support/reference_expression.hpp"
#include "unit/strategies/precision/planned.hpp"

namespace baleen::test {
namespace {

UserValues options(const char* dtype, UserValues more = {}) {
  more["dtype"] = {std::string(dtype), "test"};
  return more;
}

std::vector<const Op*> ops_of(const Graph& graph, const std::string& kind) {
  std::vector<const Op*> found;
  for (OpId id : graph.ops())
    if (graph.op(id).kind->name == kind) found.push_back(&graph.op(id));
  return found;
}

std::vector<baleen_dtype_t> dtypes(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<baleen_dtype_t> result;
  for (ValueId v : values) result.push_back(graph.value(v).dtype);
  return result;
}

using Dtypes = std::vector<baleen_dtype_t>;
constexpr baleen_dtype_t kHalf = BALEEN_BF16, kWide = BALEEN_F32;

class PrecisionCasts : public testing::Test {
 protected:
  Planned planned_ = plan_with_precision(gpt_job(4, BALEEN_F32), options("bf16"));
  const Graph& forward_ = planned_.after.at("rewrite");
};

TEST_F(PrecisionCasts, ProductsReadAndMakeSixteenBits) {
  for (const char* kind : {"matmul", "embedding", "attention"}) {
    ASSERT_FALSE(ops_of(forward_, kind).empty()) << kind;
    for (const Op* op : ops_of(forward_, kind)) {
      for (ValueId v : op->inputs)
        if (is_floating(forward_.value(v).dtype)) {
          EXPECT_EQ(forward_.value(v).dtype, kHalf) << op->name;
        }
      EXPECT_EQ(forward_.value(op->outputs[0]).dtype, kHalf) << op->name;
    }
  }
}

TEST_F(PrecisionCasts, NormsTakeSixteenBitsAndKeepWeightsAndStatisticsWide) {
  for (const Op* op : ops_of(forward_, "norm")) {
    EXPECT_EQ(dtypes(forward_, op->inputs), (Dtypes{kHalf, kWide}));
    EXPECT_EQ(dtypes(forward_, op->outputs), (Dtypes{kHalf, kWide}));
  }
  const Op& loss = *ops_of(forward_, "linear_cross_entropy").at(0);
  EXPECT_EQ(dtypes(forward_, loss.inputs), (Dtypes{kHalf, kHalf, BALEEN_I32}));
  EXPECT_EQ(dtypes(forward_, loss.outputs), (Dtypes{kWide, kWide}));
  EXPECT_EQ(forward_.value(forward_.output("loss")).dtype, kWide);
}

/// Between products all is in 16 bits, biases and positions included.
TEST_F(PrecisionCasts, WhatFlowsBetweenProductsHasSixteenBits) {
  for (OpId id : forward_.ops()) {
    const Op& op = forward_.op(id);
    if (!op.kind->has(kPointwise) && !op.kind->has(kView)) continue;
    if (is_compute_copy(op) || op.inputs.empty()) continue;
    const bool half =
        std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId v) { return forward_.value(v).dtype == kHalf; });
    if (half) {
      EXPECT_EQ(forward_.value(op.outputs[0]).dtype, kHalf) << op.name;
    }
  }
}

TEST_F(PrecisionCasts, EachParameterHasOneFormThatAllRead) {
  std::set<std::string> formed;
  for (OpId id : forward_.ops()) {
    const Op& op = forward_.op(id);
    if (!is_compute_copy(op)) continue;
    const Value &parameter = forward_.value(op.inputs[0]), &copy = forward_.value(op.outputs[0]);
    EXPECT_TRUE(is_cast(forward_, op));
    EXPECT_EQ(copy.role, Role::parameter);
    EXPECT_EQ(copy.name, parameter.name);
    EXPECT_EQ(parameter.users, std::vector<OpId>{id}) << parameter.name;
    EXPECT_TRUE(formed.insert(parameter.name).second) << parameter.name;
  }
  EXPECT_EQ(formed, (std::set<std::string>{"embedding.table", "positions", "attention.q", "attention.k", "attention.v",
                                           "attention.out", "up.weight", "up.bias", "down.weight", "head.weight"}));
}

/// Behind the sources and before all else, so that what is gathered may begin anywhere.
TEST_F(PrecisionCasts, FormsComeFirst) {
  bool others = false;
  for (OpId id : forward_.ops()) {
    const Op& op = forward_.op(id);
    if (op.inputs.empty() && op.kind->has(kStructural)) continue;
    EXPECT_FALSE(others && is_compute_copy(op));
    others = others || !is_compute_copy(op);
  }
}

TEST(PrecisionGradients, HaveTheDtypeThatTheOptionSays) {
  for (const auto& [word, dtype] : {std::pair{"same", kHalf}, std::pair{"fp32", kWide}}) {
    const Planned planned =
        plan_with_precision(gpt_job(4, BALEEN_F32), options("bf16", {{"gradients", {std::string(word), "test"}}}));
    const Graph& graph = planned.after.at("update");
    int norms = 0;
    for (OpId id : graph.ops()) {
      const Op& op = graph.op(id);
      if (op.phase != Phase::backward || op.outputs.empty()) continue;
      for (ValueId v : op.outputs) {
        const Value& value = graph.value(v);
        if (value.role != Role::gradient) continue;
        const bool norm = op.kind->name == "norm_grad";
        norms += norm;
        EXPECT_EQ(value.dtype, norm ? kWide : dtype) << op.name;
      }
    }
    EXPECT_EQ(norms, 2);
  }
}

/// In fp32 a sum of products is not rounded to 16 bits on its way.
TEST(PrecisionGradients, OfFp32AreMadeByTheProductsThemselves) {
  const Planned planned =
      plan_with_precision(gpt_job(4, BALEEN_F32), options("bf16", {{"gradients", {std::string("fp32"), "test"}}}));
  const Graph& graph = planned.plan.train().graph;
  for (OpId id : graph.ops())
    if (is_cast(graph, graph.op(id))) {
      EXPECT_TRUE(is_compute_copy(graph.op(id))) << graph.op(id).name;
    }
}

/// y = bf16(x) bf16(w), rounded; dw = bf16(x)' dy, rounded, in fp32: the cast's gradient is the cast back.
TEST(PrecisionGradients, GoThroughCastsAsWrittenByHand) {
  const Planned planned = plan_with_precision(affine_job(2, BALEEN_F32), options("bf16"));
  Steps steps(planned, 5);
  const Numbers x{1.003, -2.01, 0.5, 0.123, 3.3, -1.7};
  const Numbers w = steps.stored("up.weight"), b = steps.stored("up.bias");
  steps.run({{"x", x}});
  const auto half = [](double number) { return rounded(number, BALEEN_BF16); };
  for (int i = 0; i < 3; ++i)
    for (int o = 0; o < 4; ++o) {
      double dw = 0;
      for (int n = 0; n < 2; ++n) {
        double product = 0;
        for (int k = 0; k < 3; ++k) product += half(x[n * 3 + k]) * half(w[k * 4 + o]);
        const double y = half(half(product) + half(b[o]));
        // The loss is the sum of y² over a batch of 2; its cotangent, 1/2, is that of both factors.
        const double dy = half(half(0.5) * y + half(0.5) * y);
        dw += half(x[n * 3 + i]) * dy;
      }
      EXPECT_NEAR(steps.stored("up.weight")[i * 4 + o], w[i * 4 + o] - 0.1 * half(dw), 1e-6) << i << o;
    }
}

TEST(PrecisionKeep, KeptParametersMakeIslands) {
  const Planned planned =
      plan_with_precision(gpt_job(4, BALEEN_F32), options("bf16", {{"keep", {std::string("up.*"), "test"}}}));
  const Graph& forward = planned.after.at("rewrite");
  for (const Op* op : ops_of(forward, "matmul")) {
    const bool kept = forward.value(op->inputs[1]).name == "up.weight";
    EXPECT_EQ(dtypes(forward, op->inputs), kept ? (Dtypes{kHalf, kWide}) : (Dtypes{kHalf, kHalf})) << op->name;
    EXPECT_EQ(forward.value(op->outputs[0]).dtype, kept ? kWide : kHalf);
  }
  for (OpId id : forward.ops())
    if (is_compute_copy(forward.op(id))) {
      EXPECT_FALSE(forward.value(forward.op(id).inputs[0]).name.str().starts_with("up."));
    }
}

#ifdef BALEEN_TEST_TENSOR

/// On a square of ranks blocks travel in 16 bits; the products of blocks that a rank adds up are rounded once.
TEST(PrecisionBesideAGrid, BlocksTravelInSixteenBitsAndAddUpInFp32) {
  Job job = affine_job(4, BALEEN_F32);
  job.strategies.push_back({"tensor", {{"mode", {std::string("2d"), "test"}}}, {}, "train.lua:6"});
  Mesh line;
  line.axes = {{"tensor", 4}};
  job.mesh = *split_mesh(job, line, plugins());
  const Planned planned = plan_with_precision(std::move(job), options("bf16"));
  const Graph& graph = planned.after.at("lower");
  for (const char* kind : {"broadcast", "reduce_to"}) {
    ASSERT_FALSE(ops_of(graph, kind).empty()) << kind;
    for (const Op* op : ops_of(graph, kind)) EXPECT_EQ(dtypes(graph, op->outputs), (Dtypes{kHalf})) << op->name;
  }
  const auto sums = ops_of(graph, "accumulate");
  ASSERT_FALSE(sums.empty());
  for (const Op* op : sums) {
    EXPECT_EQ(dtypes(graph, op->inputs), (Dtypes{kWide, kWide})) << op->name;
    const Ids& users = graph.value(op->outputs[0]).users;
    ASSERT_EQ(users.size(), 1u);
    EXPECT_TRUE(is_cast(graph, graph.op(users[0]))) << op->name;
    EXPECT_EQ(dtypes(graph, graph.op(users[0]).outputs), (Dtypes{kHalf})) << op->name;
  }
}

#endif

/// Once per step, before the loop over micro-batches.
TEST(PrecisionMicroBatches, FormsAreMadeOncePerStep) {
  Job job = gpt_job(4, BALEEN_F32);
  job.gradient_accumulation_steps = 2;
  const Planned planned = plan_with_precision(std::move(job), options("bf16"));
  int copies = 0;
  for (const Section& section : planned.plan.train().sections)
    for (OpId id : section.ops)
      if (is_compute_copy(planned.plan.train().graph.op(id))) {
        ++copies;
        EXPECT_EQ(section.loop, -1);
      }
  EXPECT_EQ(copies, 10);
}

/// Added up in the dtype in which they are summed over ranks.
TEST(PrecisionMicroBatches, GradientsAccumulateInTheirDtype) {
  for (const auto& [word, dtype] : {std::pair{"same", kHalf}, std::pair{"fp32", kWide}}) {
    Job job = gpt_job(4, BALEEN_F32);
    job.gradient_accumulation_steps = 2;
    const Planned planned =
        plan_with_precision(std::move(job), options("bf16", {{"gradients", {std::string(word), "test"}}}));
    const Graph& graph = planned.plan.train().graph;
    std::map<baleen_dtype_t, int> sums;
    for (const Op* op : ops_of(graph, "accumulate_micro"))
      if (graph.value(op->outputs[0]).rank() > 0) ++sums[graph.value(op->outputs[0]).dtype];
    // Two norms' gains are fp32 in any case.
    EXPECT_EQ(sums, dtype == kHalf ? (std::map<baleen_dtype_t, int>{{kHalf, 10}, {kWide, 2}})
                                   : (std::map<baleen_dtype_t, int>{{kWide, 12}}));
  }
}

/// Nothing is cast in a job of fp64: it is there to compare plans to many digits.
TEST(PrecisionExact, AJobOfFp64StaysAsItIs) {
  const Planned planned = plan_with_precision(gpt_job(4), options("fp16"));
  for (OpId id : planned.plan.train().graph.ops())
    for (ValueId v : planned.plan.train().graph.op(id).outputs)
      EXPECT_NE(planned.plan.train().graph.value(v).dtype, BALEEN_F16);
  EXPECT_NE(planned.plan.train().graph.output("fact.loss_scale"), kNone) << "the loss is scaled all the same";
}

}  // namespace
}  // namespace baleen::test
