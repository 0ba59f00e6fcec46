/// \file Products in 8 bits: which operands are cast and how often, and scales from earlier steps against the rule
/// written once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "baleen/fp8.hpp"
#include "support/reference_expression.hpp"
#include "unit/strategies/precision/planned.hpp"

namespace baleen::test {
namespace {

UserValues in_eight_bits(UserValues more = {}) {
  more.try_emplace("dtype", UserValue{std::string("bf16"), "test"});
  more["products"] = {std::string("fp8"), "test"};
  return more;
}

/// How many values of each dtype of 8 bits a pass makes.
std::map<std::pair<Phase, baleen_dtype_t>, int> casts_of(const Graph& graph) {
  std::map<std::pair<Phase, baleen_dtype_t>, int> all;
  for (OpId id : graph.ops())
    for (ValueId v : graph.op(id).outputs)
      if (is_fp8(graph.value(v).dtype)) ++all[{graph.op(id).phase, graph.value(v).dtype}];
  return all;
}

std::set<std::string> states_of(const Plan& plan) {
  std::set<std::string> names;
  for (const PersistentSpec& spec : plan.persistent)
    if (spec.name.starts_with("precision.fp8.")) names.insert(spec.name);
  return names;
}

class Fp8Products : public testing::Test {
 protected:
  Planned planned_ = plan_with_precision(gpt_job(4, BALEEN_F32), in_eight_bits());
  const Graph& graph_ = planned_.after.at("gradients");
};

/// Forward e4m3 by e4m3; backward a cotangent in e5m2 by one of these. Attention and the loss stay in 16 bits.
TEST_F(Fp8Products, OfWeightsReadEightBitsAndMakeFp32) {
  int forward = 0, backward = 0;
  for (OpId id : graph_.ops()) {
    const Op& op = graph_.op(id);
    std::multiset<baleen_dtype_t> read;
    for (ValueId v : op.inputs) read.insert(graph_.value(v).dtype);
    const bool narrow = std::any_of(read.begin(), read.end(), [](baleen_dtype_t dtype) { return is_fp8(dtype); });
    if (op.kind->name != "matmul" || !graph_.value(op.outputs[0]).users.size()) {
      EXPECT_FALSE(narrow) << op.name << " " << op.kind->name;
      continue;
    }
    (op.phase == Phase::forward ? forward : backward) += 1;
    EXPECT_EQ(read, op.phase == Phase::forward ? (std::multiset<baleen_dtype_t>{BALEEN_E4M3, BALEEN_E4M3})
                                               : (std::multiset<baleen_dtype_t>{BALEEN_E4M3, BALEEN_E5M2}));
    EXPECT_EQ(graph_.value(op.outputs[0]).dtype, BALEEN_F32);
    ASSERT_EQ(graph_.value(op.outputs[0]).users.size(), 1u);
    const Op& behind = graph_.op(graph_.value(op.outputs[0]).users[0]);
    EXPECT_EQ(graph_.value(behind.outputs[0]).dtype, BALEEN_BF16) << "scales are taken off";
  }
  EXPECT_EQ(forward, 6) << "q, k, v, out, up, down";
  EXPECT_EQ(backward, 12) << "each has two gradients";
}

/// Four activations, of which three products share one; six weights, in each pass; six cotangents.
TEST_F(Fp8Products, CastATensorOnceForAllThatReadIt) {
  const std::map<std::pair<Phase, baleen_dtype_t>, int> expected{
      {{Phase::forward, BALEEN_E4M3}, 4 + 6}, {{Phase::backward, BALEEN_E4M3}, 6}, {{Phase::backward, BALEEN_E5M2}, 6}};
  EXPECT_EQ(casts_of(graph_), expected);
}

TEST_F(Fp8Products, KeepAHistoryOfEachTensorAndOnePosition) {
  const std::set<std::string> states = states_of(planned_.plan);
  EXPECT_EQ(states.size(), 4u + 6u + 6u + 1u);
  EXPECT_TRUE(states.contains("precision.fp8.position"));
  for (const char* weight : {"attention.q", "attention.k", "attention.v", "attention.out", "up.weight", "down.weight"})
    EXPECT_TRUE(states.contains("precision.fp8." + std::string(weight) + ".amax")) << weight;
  for (const PersistentSpec& spec : planned_.plan.persistent)
    if (spec.name.starts_with("precision.fp8.") && spec.name.ends_with(".amax")) {
      EXPECT_EQ(spec.type.shape, Shape{1024});
    }
}

TEST(Fp8Choice, LeavesWhatIsKeptInSixteenBits) {
  const std::vector<std::string> kept{"attention.*", "up.*"};
  UserValues options = in_eight_bits();
  options["fp8_keep"] = {kept, "test"};
  const Planned planned = plan_with_precision(gpt_job(4, BALEEN_F32), std::move(options));
  const std::map<std::pair<Phase, baleen_dtype_t>, int> expected{
      {{Phase::forward, BALEEN_E4M3}, 2}, {{Phase::backward, BALEEN_E4M3}, 1}, {{Phase::backward, BALEEN_E5M2}, 1}};
  EXPECT_EQ(casts_of(planned.after.at("gradients")), expected) << "down.weight alone is left";
}

TEST(Fp8Choice, IsNoneWithFp64) {
  const Planned planned = plan_with_precision(gpt_job(4, BALEEN_F64), in_eight_bits());
  EXPECT_TRUE(states_of(planned.plan).empty());
  EXPECT_TRUE(casts_of(planned.plan.train().graph).empty());
}

// --- scales

double largest_weight(const Numbers& weights) {
  double most = 0;
  for (const double w : weights) most = std::max(most, std::abs(rounded(w, BALEEN_BF16)));
  return most;
}

/// Entries go round; each is what the tensor held at the step's beginning.
TEST(Fp8History, HasTheLargestNumbersOfTheLastSteps) {
  UserValues options = in_eight_bits({{"fp8_history", {std::int64_t{3}, "test"}}});
  Steps steps(plan_with_precision(affine_job(2, BALEEN_F32), std::move(options)), 3);
  Numbers expected(3, 0);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(steps.stored("precision.fp8.position"), Numbers{static_cast<double>(i % 3)});
    expected[static_cast<std::size_t>(i % 3)] = largest_weight(steps.stored("up.weight"));
    steps.run({{"x", Numbers(6, 0.5)}});
    const Numbers& history = steps.stored("precision.fp8.up.weight.amax");
    ASSERT_EQ(history.size(), 3u);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(history[k], expected[k], 1e-12) << "step " << i;
  }
}

/// What y = x w + b is by what is stored, for x of one number.
double squares(const Steps& steps, double x) {
  const Numbers &w = steps.stored("up.weight"), &b = steps.stored("up.bias");
  double sum = 0;
  for (std::size_t o = 0; o < 4; ++o) {
    const double y = x * (w[o] + w[4 + o] + w[8 + o]) + b[o];
    sum += 2 * y * y;
  }
  return sum;
}

/// 1e4 is far beyond 448: without a scale the loss is that of another x, with the one of the step before it is right
/// but for the rounding to 4 digits.
TEST(Fp8Scale, BringsLargeNumbersIntoRange) {
  Job job = affine_job(2, BALEEN_F32);
  job.groups = {{{"up.weight"}, {}, {}, true, "test"}};
  Steps steps(plan_with_precision(std::move(job), in_eight_bits()), 3);
  const double first = squares(steps, 1e4);
  steps.run({{"x", Numbers(6, 1e4)}});
  EXPECT_LT(steps.output("loss"), first / 50) << "no scale is known yet, so what is too large is cut off";
  const double second = squares(steps, 1e4);
  steps.run({{"x", Numbers(6, 1e4)}});
  EXPECT_NEAR(steps.output("loss"), second, 0.2 * second);
}

/// 1e-5 is below half of the smallest number, 2^-9.
TEST(Fp8Scale, KeepsSmallNumbersAlive) {
  const auto run = [](UserValues options) {
    Steps steps(plan_with_precision(affine_job(2, BALEEN_F32), std::move(options)), 3);
    std::vector<Numbers> weights{steps.stored("up.weight")};
    for (int i = 0; i < 3; ++i) {
      steps.run({{"x", Numbers(6, 1e-5)}});
      weights.push_back(steps.stored("up.weight"));
    }
    return weights;
  };
  const std::vector<Numbers> narrow = run(in_eight_bits()), wide = run({{"dtype", {std::string("bf16"), "test"}}});
  EXPECT_EQ(narrow[1], narrow[0]) << "without a scale yet, all of x is 0 in 8 bits";
  for (std::size_t i = 0; i < wide[0].size(); ++i)
    for (const std::size_t step : {1u, 2u}) {
      const double own = narrow[step + 1][i] - narrow[step][i], exact = wide[step + 1][i] - wide[step][i];
      EXPECT_NEAR(own, exact, 0.2 * std::abs(exact)) << "weight " << i << " step " << step;
    }
}

/// A margin of one halves the scale: so it does not reach the largest number.
TEST(Fp8Scale, StaysBelowTheLargestByTheMargin) {
  const auto loss = [](std::int64_t margin, double x) {
    Job job = affine_job(2, BALEEN_F32);
    job.groups = {{{"up.weight"}, {}, {}, true, "test"}};
    Steps steps(plan_with_precision(std::move(job), in_eight_bits({{"fp8_margin", {margin, "test"}}})), 3);
    steps.run({{"x", Numbers(6, 100)}});
    const double exact = squares(steps, x);
    steps.run({{"x", Numbers(6, x)}});
    return steps.output("loss") / exact;
  };
  EXPECT_NEAR(loss(0, 100), 1, 0.2);
  EXPECT_NEAR(loss(2, 100), 1, 0.2);
  EXPECT_NEAR(loss(2, 400), 1, 0.2) << "four times as large has room";
  EXPECT_LT(loss(0, 400), 0.3) << "and without a margin is cut off";
}

/// A step that is skipped leaves histories and the position as they are, though x itself is finite.
TEST(Fp8History, OfASkippedStepIsAsItWas) {
  Steps steps(plan_with_precision(affine_job(2, BALEEN_F32), in_eight_bits({{"dtype", {std::string("fp16"), "test"}},
                                                                            {"initial_scale", {1e12, "test"}}})),
              3);
  const auto before = steps.all_stored();
  steps.run({{"x", Numbers(6, 0.5)}});
  ASSERT_EQ(steps.output("fact.skipped"), 1);
  int states = 0;
  for (const auto& [name, numbers] : before)
    if (name.starts_with("precision.fp8.")) {
      EXPECT_EQ(steps.stored(name), numbers) << name;
      ++states;
    }
  EXPECT_EQ(states, 4) << "x, the weight, the cotangent, and the position";
}

}  // namespace
}  // namespace baleen::test
