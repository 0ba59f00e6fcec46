/// \file Placed and converted graphs of a GPT, run on simulated ranks: losses, parameters and states are those of one
/// rank.
#include <gtest/gtest.h>

#include <iostream>

#include "compiler/placement/passes.hpp"
#include "gpt_plans.hpp"
#include "placed_traffic.hpp"
#include "simulated_ranks.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::GptGraph;
using test::GptPlan;

class SimulatedPlan : public testing::TestWithParam<GptPlan> {
 protected:
  void SetUp() override {
    gpt_.graph.set_mesh({GetParam().axes});
    graph_ = gpt_.graph;
    const PlacementRequest request = test::request_of(GetParam(), gpt_);
    const auto placed = propagate(graph_, request);
    ASSERT_TRUE(placed) << placed.error().text();
    traffic_ = test::traffic(test::transfers(graph_, request, *placed));
    const Status inserted = insert_conversions(graph_, request, *placed);
    ASSERT_TRUE(inserted) << inserted.error().text();
  }

  void expect_sound() {
    const Status sound = verify(graph_);
    ASSERT_TRUE(sound) << sound.error().text();
    const Status laid_out = verify_layouts(graph_);
    ASSERT_TRUE(laid_out) << laid_out.error().text();
  }

  /// Every value that is still there, the outputs, and all that is assigned.
  void expect_parity() {
    test::ReferenceInterpreter one(gpt_.graph);
    test::SimulatedRanks ranks(graph_);
    for (const auto& [name, numbers] : gpt_.data) one.set(name, numbers), ranks.set(name, numbers);
    one.run();
    ranks.run();
    talks_inside_ = ranks.talks_inside();
    for (OpId id : gpt_.graph.ops()) {
      if (!graph_.op(id).live) continue;
      for (ValueId v : graph_.op(id).outputs)
        if (!has_maxima(graph_.value(v).layout)) {
          ASSERT_LT(test::difference(ranks.whole(v), one.value(v)), 1e-12)
              << "%" << v << " of " << graph_.op(id).kind->name << " " << graph_.op(id).name << " in "
              << to_string(graph_.value(v).layout);
        }
    }
    for (const GraphOutput& output : graph_.outputs()) {
      EXPECT_TRUE(is_whole(graph_.value(output.value).layout)) << output.name;
      EXPECT_LT(test::difference(ranks.whole(output.value), one.output(output.name)), 1e-12) << output.name;
    }
    const auto assigned = ranks.assigned();
    ASSERT_EQ(assigned.size(), 2 * gpt_.trained.size());
    for (const auto& [name, tensor] : assigned)
      EXPECT_LT(test::difference(tensor, one.assigned().at(name)), 1e-12) << name;
  }

  static bool has_maxima(const Layout& layout) {
    return std::any_of(layout.begin(), layout.end(), [](const Placement& p) { return p == Placement::partial_max(); });
  }

  GptGraph gpt_{GetParam().model};
  Graph graph_;
  std::vector<test::TrafficRow> traffic_;
  int talks_inside_ = 0;
};

TEST_P(SimulatedPlan, ComputesWhatOneRankComputes) {
  expect_sound();
  expect_parity();
  if (HasFailure()) std::cout << print(graph_) << table_text(traffic_);
}

TEST_P(SimulatedPlan, ComputesTheSameWithInternalReductionsLowered) {
  const Status lowered = lower_internal_reductions(graph_);
  ASSERT_TRUE(lowered) << lowered.error().text();
  expect_sound();
  expect_parity();
  EXPECT_EQ(talks_inside_, 0) << "an op still reduces a dimension that is cut";
  if (HasFailure()) std::cout << print(graph_) << table_text(traffic_);
}

INSTANTIATE_TEST_SUITE_P(Gpt, SimulatedPlan, testing::ValuesIn(test::gpt_plans()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen
