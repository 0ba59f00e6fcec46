/// \file The update: groups by pattern, gradients of the mean, clipping by the global norm, rates, frozen parameters.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/graph.hpp"
#include "support/reference_interpreter.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

ParameterGroup group(std::vector<std::string> patterns, UserValues options = {}) {
  return {std::move(patterns), std::move(options), {}, false, "test"};
}

/// One step of `job` by the reference interpreter from random sources, of which `changed` are given.
struct Step {
  std::map<std::string, Numbers> before;
  std::map<std::string, Tensor> after;
  std::map<std::string, Tensor> outputs;
  UpdateResult update;

  explicit Step(Job job, const std::map<std::string, Numbers>& changed = {}) {
    auto made = train_graph(std::move(job));
    if (!made) throw std::runtime_error(made.error().text());
    before = random_sources(made->graph, 3);
    before["optimizer.updates"] = {0};
    for (const ScalarSpec& scalar : made->update.scalars) before[scalar.name] = {scalar.schedule(0)};
    for (std::size_t i = 0; i < made->update.states.size(); ++i)
      before[made->update.states[i].name].assign(
          static_cast<std::size_t>(element_count(made->update.states[i].type.shape)), made->update.initial[i]);
    for (const auto& [name, numbers] : changed) before[name] = numbers;
    ReferenceInterpreter run(made->graph);
    for (const auto& [name, numbers] : before) run.set(name, numbers);
    run.run();
    after = run.assigned();
    for (const GraphOutput& output : made->graph.outputs()) outputs[output.name] = run.output(output.name);
    update = std::move(made->update);
  }

  /// (before - after) / rate: the direction an sgd without momentum took.
  Numbers direction(const std::string& parameter, double rate) const {
    Numbers result;
    for (std::size_t i = 0; i < before.at(parameter).size(); ++i)
      result.push_back((before.at(parameter)[i] - after.at(parameter)[i]) / rate);
    return result;
  }
  bool has_state(const std::string& name) const {
    return std::any_of(update.states.begin(), update.states.end(), [&](const auto& s) { return s.name == name; });
  }
  std::vector<std::string> scalar_names() const {
    std::vector<std::string> names;
    for (const ScalarSpec& scalar : update.scalars) names.push_back(scalar.name);
    return names;
  }
};

/// The gradients of affine_job by hand: y = x·w + b, loss Σ y², over a batch of n: dw = 2 xᵀ·y / n, db = 2 Σ y / n.
struct AffineGradient {
  Numbers weight = Numbers(12, 0), bias = Numbers(4, 0);
  double norm = 0;

  AffineGradient(const std::map<std::string, Numbers>& sources, std::size_t batch) {
    const Numbers &x = sources.at("x"), &w = sources.at("up.weight"), &b = sources.at("up.bias");
    for (std::size_t n = 0; n < batch; ++n)
      for (std::size_t o = 0; o < 4; ++o) {
        double y = b[o];
        for (std::size_t i = 0; i < 3; ++i) y += x[3 * n + i] * w[4 * i + o];
        const double g = 2 * y / static_cast<double>(batch);
        bias[o] += g;
        for (std::size_t i = 0; i < 3; ++i) weight[4 * i + o] += x[3 * n + i] * g;
      }
    for (const Numbers* numbers : {&weight, &bias})
      for (double g : *numbers) norm += g * g;
    norm = std::sqrt(norm);
  }
};

void expect_near(const Numbers& expected, const Numbers& got, double factor = 1) {
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(expected[i] * factor, got[i], 1e-12) << i;
}

// --- groups

TEST(PlanGroups, TheFirstThatMatchesWins) {
  Job job;
  job.groups = {group({"*.bias", "*.gain"}), group({"head.*"}), group({"*.weight"})};
  EXPECT_EQ(group_of(job, "blocks.0.up.bias"), 0);
  EXPECT_EQ(group_of(job, "norm.gain"), 0);
  EXPECT_EQ(group_of(job, "head.bias"), 0) << "also in group 1, which stands later";
  EXPECT_EQ(group_of(job, "head.weight"), 1) << "also in group 2, which stands later";
  EXPECT_EQ(group_of(job, "up.weight"), 2);
  EXPECT_EQ(group_of(job, "embedding.table"), -1);
}

// --- gradients, norm, clipping

TEST(PlanUpdate, TheGradientIsThatOfTheMean) {
  const Step step(affine_job(6));
  const AffineGradient expected(step.before, 6);
  expect_near(expected.weight, step.outputs.at("gradient.up.weight").data);
  expect_near(expected.bias, step.outputs.at("gradient.up.bias").data);
  expect_near(expected.weight, step.direction("up.weight", 0.1));
  expect_near(expected.bias, step.direction("up.bias", 0.1));
}

TEST(PlanUpdate, TheNormIsOverAllParametersTogether) {
  const Step step(affine_job(6));
  EXPECT_NEAR(step.outputs.at("gradient_norm")[0], AffineGradient(step.before, 6).norm, 1e-12);
}

TEST(PlanUpdate, ALargeGradientIsScaledToTheBound) {
  Job job = affine_job(6);
  job.clip_grad_norm = 0.25;
  const Step step(std::move(job));
  const AffineGradient expected(step.before, 6);
  ASSERT_GT(expected.norm, 0.25);
  const double factor = 0.25 / (expected.norm + 1e-6);
  expect_near(expected.weight, step.direction("up.weight", 0.1), factor);
  expect_near(expected.bias, step.direction("up.bias", 0.1), factor);
  EXPECT_NEAR(step.outputs.at("gradient_norm")[0], expected.norm, 1e-12) << "reported as it was";
}

TEST(PlanUpdate, ASmallGradientIsNotScaled) {
  Job job = affine_job(6);
  job.clip_grad_norm = 1000;
  const Step step(std::move(job));
  expect_near(AffineGradient(step.before, 6).weight, step.direction("up.weight", 0.1));
}

/// More terms than one expression sums up.
TEST(PlanUpdate, TheNormOfManyParametersSumsThemAll) {
  for (int count : {1, 2, 15, 16, 17, 31, 32, 50}) {
    SCOPED_TRACE(count);
    GraphMaker m;
    Job job = affine_job(2);
    job.parameters.clear();
    ValueId loss = kNone;
    double expected = 0;
    for (int i = 0; i < count; ++i) {
      const std::string name = "p" + std::to_string(i);
      job.parameters.push_back({name, {BALEEN_F64, {2}, {}}, {}, "test"});
      const ValueId term = m.scale(m.sum(m.parameter(name, {2}), {0}), i + 1);
      loss = loss == kNone ? term : m.binary(BALEEN_X_ADD, loss, term);
      expected += 2.0 * (i + 1) * (i + 1);
    }
    m.output("loss", loss);
    m.output("weight", *m.graph.constant(1, BALEEN_F64));
    job.train() = std::move(m.graph);
    EXPECT_NEAR(Step(std::move(job)).outputs.at("gradient_norm")[0], std::sqrt(expected), 1e-11);
  }
}

// --- groups

TEST(PlanUpdate, AGroupHasItsOwnRate) {
  Job job = affine_job(6);
  job.groups = {group({"*.bias"}, {{"lr", {0.5, "test"}}})};
  const Step step(std::move(job));
  EXPECT_EQ(step.scalar_names(), (std::vector<std::string>{"lr", "lr/0"}));
  EXPECT_EQ(step.before.at("lr/0"), Numbers{0.5});
  const AffineGradient expected(step.before, 6);
  expect_near(expected.weight, step.direction("up.weight", 0.1));
  expect_near(expected.bias, step.direction("up.bias", 0.5));
}

TEST(PlanUpdate, AGroupWithoutARateSharesTheOptimizersSchedule) {
  Job job = affine_job(6);
  job.optimizer.options.erase("lr");
  job.optimizer.schedules["lr"] = [](std::int64_t step) { return 0.5 / static_cast<double>(step + 1); };
  job.groups = {group({"*.bias"}, {{"weight_decay", {0.0, "test"}}})};
  const Step step(std::move(job));
  ASSERT_EQ(step.scalar_names(), (std::vector<std::string>{"lr"}));
  EXPECT_EQ(step.update.scalars[0].schedule(4), 0.1);
  expect_near(AffineGradient(step.before, 6).bias, step.direction("up.bias", 0.5));
}

TEST(PlanUpdate, AGroupHasItsOwnSchedule) {
  Job job = affine_job(6);
  job.groups = {group({"up.weight"}), group({"*.bias"})};
  job.groups[1].schedules["lr"] = [](std::int64_t step) { return step == 7 ? 3.0 : 2.0; };
  const Step step(std::move(job));
  ASSERT_EQ(step.scalar_names(), (std::vector<std::string>{"lr", "lr/1"}));
  EXPECT_EQ(step.update.scalars[0].schedule(7), 0.1);
  EXPECT_EQ(step.update.scalars[1].schedule(7), 3);
  expect_near(AffineGradient(step.before, 6).bias, step.direction("up.bias", 2));
}

TEST(PlanUpdate, AGroupWithoutDecayIsNotDecayed) {
  Job job = affine_job(6);
  job.optimizer.options["weight_decay"] = {0.3, "test"};
  job.groups = {group({"*.bias"}, {{"weight_decay", {0.0, "test"}}})};
  const Step step(std::move(job));
  const AffineGradient expected(step.before, 6);
  Numbers decayed = expected.weight;
  for (std::size_t i = 0; i < decayed.size(); ++i) decayed[i] += 0.3 * step.before.at("up.weight")[i];
  expect_near(decayed, step.direction("up.weight", 0.1));
  expect_near(expected.bias, step.direction("up.bias", 0.1));
}

TEST(PlanUpdate, AGroupDecidesItsOwnSlots) {
  Job job = affine_job(6);
  job.groups = {group({"*.bias"}, {{"momentum", {0.9, "test"}}})};
  const Step step(std::move(job));
  EXPECT_TRUE(step.has_state("up.bias.momentum"));
  EXPECT_FALSE(step.has_state("up.weight.momentum"));
}

TEST(PlanUpdate, AFrozenParameterIsNotTouchedNorCountedInTheNorm) {
  Job job = affine_job(6);
  job.optimizer.options["momentum"] = {0.9, "test"};
  job.groups = {group({"*.weight"})};
  job.groups[0].frozen = true;
  const Step step(std::move(job));
  EXPECT_FALSE(step.after.contains("up.weight"));
  EXPECT_FALSE(step.has_state("up.weight.momentum"));
  EXPECT_FALSE(step.outputs.contains("gradient.up.weight"));
  const AffineGradient expected(step.before, 6);
  expect_near(expected.bias, step.direction("up.bias", 0.1));
  double norm = 0;
  for (double g : expected.bias) norm += g * g;
  EXPECT_NEAR(step.outputs.at("gradient_norm")[0], std::sqrt(norm), 1e-12);
}

/// What an earlier group froze, a later one does not train.
TEST(PlanUpdate, FreezingFollowsTheFirstGroupThatMatches) {
  Job job = affine_job(6);
  job.groups = {group({"*.bias"}), group({"up.*"})};
  job.groups[1].frozen = true;
  const Step step(std::move(job));
  EXPECT_TRUE(step.after.contains("up.bias"));
  EXPECT_FALSE(step.after.contains("up.weight"));
}

// --- state

TEST(PlanUpdate, StatesAreListedWithTheirFirstValuesAndAllAreAssigned) {
  Job job = affine_job(6);
  job.optimizer.name = "adamw";
  const Step step(std::move(job));
  std::map<std::string, std::string> categories;
  for (const PersistentSpec& state : step.update.states) categories[state.name] = state.category;
  EXPECT_EQ(categories, (std::map<std::string, std::string>{{"optimizer.updates", "control"},
                                                            {"up.weight.m", "optimizer"},
                                                            {"up.weight.v", "optimizer"},
                                                            {"up.bias.m", "optimizer"},
                                                            {"up.bias.v", "optimizer"}}));
  EXPECT_EQ(step.update.initial, Numbers(5, 0));
  for (const auto& [name, category] : categories) EXPECT_TRUE(step.after.contains(name)) << name;
}

TEST(PlanUpdate, UpdatesAreCounted) {
  const Step step(affine_job(6), {{"optimizer.updates", {41}}});
  EXPECT_EQ(step.after.at("optimizer.updates").data, Numbers{42});
}

TEST(PlanUpdate, AParameterThatTheLossDoesNotReachIsNotTouched) {
  Job job = affine_job(6);
  job.parameters.push_back({"spare", {BALEEN_F64, {2}, {}}, {}, "test"});
  job.optimizer.options["weight_decay"] = {0.3, "test"};
  const Step step(std::move(job));
  EXPECT_FALSE(step.after.contains("spare"));
  EXPECT_TRUE(step.after.contains("up.weight"));
}

// --- refusals

std::string refusal(Job job) {
  auto made = train_graph(std::move(job));
  return made ? "" : made.error().text();
}

TEST(PlanUpdate, AJobThatTrainsNothingIsRefused) {
  Job job = affine_job(6);
  job.groups = {group({"*"})};
  job.groups[0].frozen = true;
  EXPECT_NE(refusal(std::move(job)).find("no parameter is trained: all are frozen, or the loss depends on none"),
            std::string::npos);
}

TEST(PlanUpdate, AGroupThatChangesNothingIsRefused) {
  const auto refused = [](std::vector<std::vector<std::string>> groups) {
    Job job = affine_job(6);
    for (auto& patterns : groups) job.groups.push_back({std::move(patterns), {}, {}, true, "train.lua:7"});
    return refusal(std::move(job));
  };
  EXPECT_NE(refused({{"ap.*"}})
                .find("a group of optimizer `" + affine_job(6).optimizer.name +
                      "`: no parameter matches `ap.*`; did you mean `up.*`?"),
            std::string::npos);
  EXPECT_NE(refused({{"*.bias", "up.wight"}}).find("`up.wight`; the names are like `up."), std::string::npos);
  EXPECT_NE(refused({{"up.*"}, {"*.bias"}}).find("`*.bias` match no parameter that is left to it"), std::string::npos);
  EXPECT_NE(refused({{"*.gamma"}}).find("`*.gamma` match no parameter"), std::string::npos);
  EXPECT_NE(refused({{"ap.*"}}).find("train.lua:7"), std::string::npos);
}

TEST(PlanUpdate, AnUnknownOptimizerIsRefusedWithTheNearest) {
  Job job = affine_job(6);
  job.optimizer.name = "adamv";
  const std::string text = refusal(std::move(job));
  EXPECT_NE(text.find("adamv"), std::string::npos) << text;
  EXPECT_NE(text.find("adamw"), std::string::npos) << text;
}

TEST(PlanUpdate, AnUnknownOptionOfAGroupIsRefusedAtItsPlace) {
  Job job = affine_job(6);
  job.groups = {group({"*.bias"}, {{"momentun", {0.9, "train.lua:12"}}})};
  const std::string text = refusal(std::move(job));
  EXPECT_NE(text.find("train.lua:12"), std::string::npos) << text;
  EXPECT_NE(text.find("momentum"), std::string::npos) << text;
}

TEST(PlanUpdate, AGraphWithoutALossIsRefused) {
  Job job = affine_job(6);
  GraphMaker m;
  m.output("weight", *m.graph.constant(1, BALEEN_F64));
  job.train() = std::move(m.graph);
  EXPECT_NE(refusal(std::move(job)).find("lacks the output `loss` or `weight`"), std::string::npos);
}

}  // namespace
}  // namespace baleen::test
