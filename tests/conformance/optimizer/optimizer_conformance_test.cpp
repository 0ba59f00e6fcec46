/// \file What every optimizer must do, whatever its formula.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/optimizer_run.hpp"

namespace {

using namespace baleen::test;

/// Those whose step of an element depends on others. A new one is named here.
constexpr const char* kOfWholeTensors[] = {"adafactor", "lamb", "muon"};

std::vector<std::string> elementwise_members() {
  std::vector<std::string> names;
  for (const std::string& name : built_members("optimizer"))
    if (std::count(std::begin(kOfWholeTensors), std::end(kOfWholeTensors), name) == 0) names.push_back(name);
  return names;
}

class Optimizer : public testing::TestWithParam<std::string> {
 protected:
  PluginUnderTest<baleen_optimizer_t> plugin{built_plugin("optimizer", GetParam())};
  TestSettings settings{plugin.descriptor};
  const Tensor start{{2, 3}, {0.5, -1, 2, 0.25, -0.125, 3}};
  const std::vector<double> gradient = {0.1, 0.2, -0.3, 0.4, -0.5, 0.6};

  bool is_elementwise() const {
    void* optimizer = nullptr;
    EXPECT_EQ(plugin.table.create(plugin.host->get(), settings.get(), &optimizer), BALEEN_OK);
    const bool result = plugin.table.traits(optimizer) & BALEEN_OPTIMIZER_ELEMENTWISE;
    plugin.table.destroy(optimizer);
    return result;
  }
};

class ElementwiseOptimizer : public Optimizer {};

TEST_P(Optimizer, DescribesItself) {
  EXPECT_STREQ(plugin.descriptor.kind, "optimizer");
  EXPECT_EQ(plugin.descriptor.name, GetParam());
  EXPECT_NE(plugin.descriptor.summary[0], 0);
  ASSERT_NO_THROW(settings.set_value("lr", 0)) << "every optimizer has a schedule `lr`";
  for (const baleen_option_t& option : plugin.descriptor.options) {
    if (!option.name[0]) break;
    EXPECT_NE(option.help[0], 0) << option.name << " needs a line of help";
    EXPECT_TRUE(option.flags & BALEEN_OPTION_PER_GROUP) << option.name << ": a group must be able to override it";
  }
}

TEST_P(Optimizer, GoesDownhill) {
  OptimizerRun run(plugin, settings, {start});
  run.step({gradient}, 1e-3);
  double slope = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) slope += gradient[i] * (run.parameter()[i] - start.data[i]);
  EXPECT_LT(slope, 0);
}

TEST_P(Optimizer, KeepsShapesAndFiniteNumbers) {
  OptimizerRun run(plugin, settings, {start, {{}, {1.5}}, {{1, 1, 2}, {0, 0}}});
  for (int step = 0; step < 4; ++step) run.step({gradient, {0.3}, {0, 0}}, 0.01);
  EXPECT_EQ(run.tensor(0).shape, start.shape);
  EXPECT_TRUE(run.tensor(1).shape.empty());
  EXPECT_EQ(run.tensor(2).shape, (std::vector<std::int64_t>{1, 1, 2}));
  for (std::size_t i = 0; i < 3; ++i)
    for (double number : run.parameter(i)) EXPECT_TRUE(std::isfinite(number)) << "parameter " << i;
}

/// What the core refuses of a plugin, and what a slot that follows a dimension must have.
TEST_P(Optimizer, HasSlotsThatFitTheParameter) {
  void* optimizer = nullptr;
  ASSERT_EQ(plugin.table.create(plugin.host->get(), settings.get(), &optimizer), BALEEN_OK);
  for (const Tensor& parameter : {start, Tensor{{}, {1.5}}, Tensor{{1, 1, 2}, {0, 0}}, Tensor{{4}, {1, 2, 3, 4}}}) {
    const std::vector<Tensor> slots = first_slots(plugin, optimizer, settings.get(), parameter);
    EXPECT_LE(slots.size(), std::size_t{BALEEN_MAX_SLOTS});
    for (const Tensor& slot : slots) {
      EXPECT_LE(slot.size(), parameter.size()) << "a slot takes no more than its parameter";
      for (double number : slot.data) EXPECT_TRUE(std::isfinite(number));
    }
  }
  plugin.table.destroy(optimizer);
}

TEST_P(Optimizer, IsAPureFunctionOfItsInputs) {
  OptimizerRun first(plugin, settings, {start});
  for (int step = 0; step < 3; ++step) first.step({gradient}, 0.01);
  OptimizerRun again(plugin, settings, {start});
  for (int step = 0; step < 3; ++step) again.step({gradient}, 0.01);
  EXPECT_EQ(first.parameter(), again.parameter());
}

TEST_P(Optimizer, LeavesParametersAloneAtRateZero) {
  OptimizerRun run(plugin, settings, {start});
  run.step({gradient}, 0);
  EXPECT_EQ(run.parameter(), start.data);
}

TEST_P(Optimizer, DoesNotMixParameters) {
  OptimizerRun together(plugin, settings, {start, {{2}, {5, 6}}});
  OptimizerRun alone(plugin, settings, {start});
  for (int step = 0; step < 3; ++step) {
    together.step({gradient, {7, -8}}, 0.01);
    alone.step({gradient}, 0.01);
  }
  EXPECT_EQ(together.parameter(0), alone.parameter(0));
}

TEST_P(Optimizer, SaysWhetherItIsElementwise) {
  EXPECT_EQ(is_elementwise(), std::count(std::begin(kOfWholeTensors), std::end(kOfWholeTensors), GetParam()) == 0);
}

TEST_P(ElementwiseOptimizer, UpdatesAnySliceAlone) {
  OptimizerRun whole(plugin, settings, {start});
  OptimizerRun slice(plugin, settings, {{{2}, {start.data[3], start.data[4]}}});
  for (int step = 0; step < 3; ++step) {
    whole.step({gradient}, 0.01);
    slice.step({{gradient[3], gradient[4]}}, 0.01);
  }
  EXPECT_EQ(slice.parameter()[0], whole.parameter()[3]);
  EXPECT_EQ(slice.parameter()[1], whole.parameter()[4]);
}

TEST_P(Optimizer, PassesTheGraphsRefusalOnUnchanged) {
  void* optimizer = nullptr;
  ASSERT_EQ(plugin.table.create(plugin.host->get(), settings.get(), &optimizer), BALEEN_OK);
  FakeGraph graph(plugin.host->get());
  settings.set_value("lr", graph.add(0.1));
  std::vector<baleen_value_t> values;
  for (const Tensor& slot : first_slots(plugin, optimizer, settings.get(), start)) values.push_back(graph.add(slot));
  baleen_update_t update{};
  update.size = sizeof(update);
  update.parameter = graph.add(start);
  update.gradient = graph.add(start);
  update.count = graph.add(0.0);
  update.slot_count = static_cast<std::uint32_t>(values.size());
  update.slots = values.data();
  update.settings = settings.get();
  graph.fail_after(0, "the graph is full");
  auto status = plugin.table.begin ? plugin.table.begin(optimizer, graph.get(), &update, 1) : BALEEN_OK;
  if (status == BALEEN_OK) status = plugin.table.update(optimizer, graph.get(), &update);
  EXPECT_EQ(status, BALEEN_INVALID);
  EXPECT_EQ(plugin.host->failure(), "the graph is full");
  plugin.table.destroy(optimizer);
}

INSTANTIATE_TEST_SUITE_P(Members, Optimizer, testing::ValuesIn(built_members("optimizer")),
                         [](const auto& info) { return info.param; });
INSTANTIATE_TEST_SUITE_P(Members, ElementwiseOptimizer, testing::ValuesIn(elementwise_members()),
                         [](const auto& info) { return info.param; });

}  // namespace
