/// \file Slots of any shape, what an optimizer may give back, and states that it adds.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/graph.hpp"
#include "compiler/placement/passes.hpp"
#include "support/reference_interpreter.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

const Registry& odd_plugins() {
  static const Registry found = *Registry::discover(std::vector<PluginPlace>{{ODD, "test"}}, Log());
  return found;
}

Job odd_job(const std::string& form) {
  Job job = affine_job(6);
  std::sort(job.parameters.begin(), job.parameters.end(),
            [](const ParameterSpec& a, const ParameterSpec& b) { return a.name > b.name; });  // the matrix first
  job.optimizer = {"odd", {{"form", {form, "test"}}}, {}, "test"};
  return job;
}

/// The train graph; with a condition the step counts where the scalar "counts" is not 0.
Result<TrainGraph> made(Job job, bool conditional = false) {
  BALEEN_TRY_ASSIGN(LossGradients gradients, differentiate_loss(job.train(), job));
  if (conditional) {
    BALEEN_TRY_ASSIGN(gradients.condition, job.train().scalar("counts", BALEEN_F64));
  }
  for (std::size_t i = 0; i < gradients.all.size(); ++i)
    job.train().set_output("gradient." + job.parameters[i].name, gradients.all[i].gradient);
  BALEEN_TRY_ASSIGN(UpdateResult update, append_update(job.train(), job, std::move(gradients), odd_plugins()));
  job.train().remove_dead();
  BALEEN_TRY(verify(job.train()));
  return TrainGraph{std::move(job.train()), std::move(update)};
}

/// One step from random parameters and the slots' first values, each in its place.
struct Step {
  TrainGraph train;
  std::map<std::string, Numbers> before;
  std::map<std::string, Tensor> after;
  std::map<std::string, Tensor> outputs;

  explicit Step(const std::string& form, std::optional<double> counts = {}) : train(*made(odd_job(form), !!counts)) {
    before = random_sources(train.graph, 3);
    before["lr"] = {0.1};
    if (counts) before["counts"] = {*counts};
    for (std::size_t i = 0; i < train.update.states.size(); ++i) {
      const PersistentSpec& state = train.update.states[i];
      before[state.name].assign(static_cast<std::size_t>(element_count(state.type.shape)), train.update.initial[i]);
    }
    ReferenceInterpreter run(train.graph);
    for (const auto& [name, numbers] : before) run.set(name, numbers);
    run.run();
    after = run.assigned();
    for (const GraphOutput& output : train.graph.outputs()) outputs[output.name] = run.output(output.name);
  }
  const PersistentSpec& state(const std::string& name) const {
    for (const PersistentSpec& one : train.update.states)
      if (one.name == name) return one;
    throw std::runtime_error("no state " + name);
  }
};

std::string refusal(const std::string& form) {
  const auto result = made(odd_job(form));
  return result ? "accepted" : result.error().message;
}

TEST(Slots, HaveTheShapesThatTheOptimizerGives) {
  const Step step("sides");
  EXPECT_EQ(step.state("up.weight.row").type.shape, (Shape{3, 1}));
  EXPECT_EQ(step.state("up.weight.column").type.shape, (Shape{4}));
  EXPECT_EQ(step.state("up.weight.left").type.shape, (Shape{3, 3}));
  EXPECT_EQ(step.state("up.weight.all").type.shape, (Shape{3, 4}));
  EXPECT_EQ(step.state("up.weight.step").type.shape, Shape{});
  EXPECT_EQ(step.train.update.states.size(), 5u + 1) << "the bias has none, and updates are counted";
}

/// Sums of rows and columns, a product of the gradient with itself.
TEST(Slots, AreUpdatedByOpsOfAnyKind) {
  const Step step("sides");
  const Numbers& g = step.outputs.at("gradient.up.weight").data;
  Numbers row(3, 0), column(4, 0), left(9, 0.5);
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      row[i] += g[4 * i + j], column[j] += g[4 * i + j];
      for (std::size_t k = 0; k < 3; ++k) left[3 * i + k] += g[4 * i + j] * g[4 * k + j];
    }
  const auto expect = [&](const std::string& name, const Numbers& expected) {
    const Numbers& found = step.after.at("up.weight." + name).data;
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << name << " " << i;
  };
  expect("row", row);
  expect("column", column);
  expect("left", left);
  expect("all", g);
  expect("step", {4});
}

/// A matrix that is cut along its columns, on the first of two axes.
TEST(Slots, LieWhereTheDimensionsThatTheyFollowLie) {
  auto train = made(odd_job("sides"));
  ASSERT_TRUE(train) << train.error().text();
  train->graph.set_mesh({{{"tensor", 2}, {"data", 2}}});
  PlacementRequest request;
  request.trained = train->update.trained;
  const auto stored = [&](const char* used) {
    PlacementRequest own = request;
    own.used[own.trained[0].parameter] = *parse_layout(used);
    const auto complete = complete_request(train->graph, own);
    EXPECT_TRUE(complete) << complete.error().text();
    std::map<std::string, std::string> layouts;
    for (const ValueId state : own.trained[0].states)
      layouts[train->graph.value(state).name.str().substr(10)] = to_string(complete->stored.at(state));
    return layouts;
  };
  using Layouts = std::map<std::string, std::string>;
  EXPECT_EQ(stored("S1,R"),
            (Layouts{{"row", "R,R"}, {"column", "S0,R"}, {"left", "R,R"}, {"all", "S1,R"}, {"step", "R,R"}}));
  EXPECT_EQ(stored("R,S0"),
            (Layouts{{"row", "R,S0"}, {"column", "R,R"}, {"left", "R,S0"}, {"all", "R,S0"}, {"step", "R,R"}}));
  EXPECT_EQ(stored("F,R"),
            (Layouts{{"row", "R,R"}, {"column", "R,R"}, {"left", "R,R"}, {"all", "F,R"}, {"step", "R,R"}}));
}

TEST(Slots, OfFormsThatCannotBeAreRefused) {
  const std::string head = "optimizer `odd`: ", slot = head + "slot `s` of `up.weight`: dimension ";
  EXPECT_EQ(refusal("far"), slot +
                                "0 follows dimension 7 of a parameter [3, 4]; take one of its dimensions, or -1 for "
                                "none");
  EXPECT_EQ(refusal("extent"), slot +
                                   "0 has the extent 4 and follows dimension 0 of [3, 4]; give it that extent, or "
                                   "let it follow none");
  EXPECT_EQ(refusal("twice"), slot + "1 follows dimension 0, which an earlier one follows; let it follow none");
  EXPECT_EQ(refusal("empty"), slot + "0 has the extent 0; the least is 1");
  EXPECT_EQ(refusal("nameless"), head + "the name of a slot of `up.weight` has 0 bytes; it takes 1 to 63");
  EXPECT_EQ(refusal("same name"), head + "two slots of `up.weight` are called `s`");
  EXPECT_EQ(refusal("many"), head + "it has 9 slots per parameter; the most is 8");
}

// --- what is given back

TEST(GivenBack, SlotsMayBeSwapped) {
  const Step step("swapped");
  EXPECT_EQ(step.after.at("up.weight.s").data, Numbers(12, 4));
  EXPECT_EQ(step.after.at("up.weight.t").data, Numbers(12, 3));
}

/// An old value under its own name needs no assign.
TEST(GivenBack, AnOldValueStaysOrIsCopied) {
  const Step step("parameter kept");
  EXPECT_FALSE(step.after.contains("up.weight"));
  EXPECT_FALSE(step.after.contains("up.weight.s"));
  EXPECT_EQ(step.after.at("up.weight.t").data, step.before.at("up.weight"));
}

TEST(GivenBack, AGradientStaysAGradient) {
  const Step step("gradient kept");
  EXPECT_EQ(step.after.at("up.weight.s").data, step.outputs.at("gradient.up.weight").data);
  const ValueId g = step.train.graph.output("gradient.up.weight");
  EXPECT_EQ(step.train.graph.value(g).role, Role::gradient);
}

TEST(GivenBack, WhatDoesNotFitIsNamed) {
  const std::string head = "optimizer `odd`: the new value of `up.weight.t`, of the parameter `up.weight`, ";
  EXPECT_EQ(refusal("short"), head + "is fp64[]; it has to be fp64[3, 4]");
  EXPECT_EQ(refusal("none"), head + "was not given");
}

/// What the graph refuses is blamed on who asked for it.
TEST(Refusals, OfTheGraphNameTheOptimizer) {
  EXPECT_TRUE(refusal("kind").starts_with("optimizer `odd`: there is no op kind `svd`: it is not built in"))
      << refusal("kind");
  EXPECT_EQ(
      refusal("letters"),
      "optimizer `odd`: up.weight.update: matmul \"ij,jk->ik\": letter j is 4 in the first input [3, 4] and 3 in the "
      "second [3, 4]");
}

// --- states of the optimizer's own

TEST(OwnStates, ChangeInStepsThatCountOnly) {
  const Step counted("own state", 1), skipped("own state", 0), always("own state");
  EXPECT_EQ(always.after.at("optimizer.up.weight").data, Numbers{6});
  EXPECT_EQ(counted.after.at("optimizer.up.weight").data, Numbers{6});
  EXPECT_EQ(skipped.after.at("optimizer.up.weight").data, Numbers{5});
  EXPECT_EQ(skipped.after.at("up.weight").data, skipped.before.at("up.weight"));
}

TEST(OwnStates, AreAllThatAnOptimizerAssigns) {
  EXPECT_EQ(refusal("assigns"),
            "optimizer `odd` assigns `up.weight`, which is no state that it has added; give new "
            "parameters and slots back from `update`");
}

}  // namespace
}  // namespace baleen::test
