/// \file Placed and converted graphs of a GPT, run on simulated ranks: losses, parameters and states are those of one
/// rank.
#include <gtest/gtest.h>

#include <iostream>

#include "core/plan/convert.hpp"
#include "core/plan/propagate.hpp"
#include "gpt_graph.hpp"
#include "simulated_ranks.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

using test::GptGraph;
using test::GptModel;

/// One plan: what each mesh axis is for.
struct Plan {
  std::string name;
  std::vector<MeshAxis> axes;
  GptModel model;
  int zero = 0;                ///< stage along `data`
  bool flat = false;           ///< ... of flat shards
  bool cut_residuals = false;  ///< along `tensor`, by sequence
  bool balanced = false;       ///< along `sequence`
  bool every_micro_batch = false;
  bool cut_width = false;  ///< residuals along `tensor`, by width, with whole weights
};

void PrintTo(const Plan& plan, std::ostream* out) { *out << plan.name; }

class Request {
 public:
  Request(const Plan& plan, GptGraph& gpt) : plan_(plan), gpt_(gpt) {}

  PlacementRequest make() {
    request_.trained = gpt_.trained;
    request_.cuts.resize(plan_.axes.size());
    for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
      const std::string& name = plan_.axes[static_cast<std::size_t>(axis)].name;
      auto& cuts = request_.cuts[static_cast<std::size_t>(axis)];
      if (name == "data") cuts = {"batch"}, pin_all(gpt_.inputs, axis, Placement::shard(0));
      if (name == "sequence")
        cuts = {"seq", "heads"},
        pin_all(gpt_.inputs, axis, plan_.balanced ? Placement::balanced(1) : Placement::shard(1));
      if (name == "tensor") tensor(axis, cuts);
    }
    if (plan_.zero > 0) zero(gpt_.graph.mesh().find("data"));
    return std::move(request_);
  }

 private:
  void pin_all(const std::vector<ValueId>& values, int axis, Placement placement) {
    for (ValueId v : values) {
      Pin& pin = request_.pins[v];
      pin.placements.resize(plan_.axes.size());
      pin.placements[static_cast<std::size_t>(axis)] = placement;
    }
  }

  void tensor(int axis, std::vector<std::string>& cuts) {
    if (plan_.cut_width) {
      cuts = {"embed"};
      pin_all(gpt_.residuals, axis, Placement::shard(2));
      return;
    }
    cuts = {"heads", "ff", "vocab"};
    static const std::map<std::string, int> dims{{"embedding", 0}, {"head", 1},     {"qkv", 2}, {"q", 1},
                                                 {"kv", 2},        {"qkv_bias", 1}, {"out", 0}, {"up", 1},
                                                 {"up_bias", 0},   {"down", 0}};
    for (const TrainedParameter& p : gpt_.trained)
      if (auto it = dims.find(GptGraph::kind(gpt_.graph.value(p.parameter).name)); it != dims.end())
        request_.used[p.parameter] = with_placement(Layout(plan_.axes.size()), axis, Placement::shard(it->second));
    if (!plan_.cut_residuals) return;
    cuts.push_back("seq");
    pin_all(gpt_.residuals, axis, Placement::shard(1));
  }

  void zero(int axis) {
    for (const TrainedParameter& p : gpt_.trained) {
      const Layout used = request_.used.try_emplace(p.parameter, Layout(plan_.axes.size())).first->second;
      const Layout layout = with_placement(used, axis, plan_.flat ? Placement::flat() : Placement::shard(0));
      request_.stored[p.states[0]] = layout;
      if (plan_.zero == 3) request_.stored[p.parameter] = layout;
      if (plan_.zero < 2) continue;
      request_.pins[p.gradient] = pin_to(layout);
      request_.pins[p.gradient].every_micro_batch = plan_.every_micro_batch;
    }
  }

  const Plan& plan_;
  GptGraph& gpt_;
  PlacementRequest request_;
};

class SimulatedPlan : public testing::TestWithParam<Plan> {
 protected:
  void SetUp() override {
    gpt_.graph.set_mesh({GetParam().axes});
    graph_ = gpt_.graph;
    const PlacementRequest request = Request(GetParam(), gpt_).make();
    const auto placed = propagate(graph_, request);
    ASSERT_TRUE(placed) << placed.error().text();
    traffic_ = traffic(transfers(graph_, request, *placed));
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
  std::vector<TrafficRow> traffic_;
  int talks_inside_ = 0;
};

TEST_P(SimulatedPlan, ComputesWhatOneRankComputes) {
  expect_sound();
  expect_parity();
  if (HasFailure()) std::cout << print(graph_) << to_string(traffic_);
}

TEST_P(SimulatedPlan, ComputesTheSameWithInternalReductionsLowered) {
  const Status lowered = lower_internal_reductions(graph_);
  ASSERT_TRUE(lowered) << lowered.error().text();
  expect_sound();
  expect_parity();
  EXPECT_EQ(talks_inside_, 0) << "an op still reduces a dimension that is cut";
  if (HasFailure()) std::cout << print(graph_) << to_string(traffic_);
}

std::vector<Plan> plans() {
  const MeshAxis d2{"data", 2}, d3{"data", 3}, t2{"tensor", 2}, t4{"tensor", 4}, s2{"sequence", 2};
  GptModel tied, fused, uneven, grouped, plain;
  tied.tied = fused.fused_loss = fused.tied = true;
  uneven.batch = 5, uneven.sequence = 3, uneven.heads = 3, uneven.kv_heads = 3, uneven.hidden = 6,
  uneven.vocabulary = 7;
  grouped.kv_heads = 2, grouped.rms = true, grouped.bias = false;
  plain.masked = plain.dropout = false;
  return {{"data2", {d2}, {}},
          {"data3_uneven", {d3}, uneven},
          {"data4_of_three_rows",
           {{"data", 4}},
           [] {
             GptModel m;
             m.batch = 3;
             return m;
           }()},
          {"data2_fused", {d2}, fused},
          {"data2_grouped", {d2}, grouped},
          {"data2_plain", {d2}, plain},
          {"zero1", {d2}, {}, 1},
          {"zero2", {d2}, {}, 2, false, false, false, true},
          {"zero3", {{"data", 4}}, {}, 3},
          {"zero3_uneven", {d3}, uneven, 3},
          {"zero1_flat", {d3}, {}, 1, true},
          {"zero3_flat_tensor", {d2, t2}, {}, 3, true},
          {"tensor2", {t2}, {}},
          {"tensor4_tied", {t4}, tied},
          {"tensor2_fused", {t2}, fused},
          {"tensor2_uneven", {t2}, uneven},
          {"tensor2_grouped", {t2}, grouped},
          {"megatron_sequence", {t2}, {}, 0, false, true},
          {"sequence2", {s2}, {}},
          {"sequence2_uneven", {s2}, uneven},
          {"sequence2_balanced", {s2}, {}, 0, false, false, true},
          {"data_tensor", {d2, t2}, tied},
          {"tensor_data", {t2, d2}, {}},
          {"data_tensor_zero1", {d2, t2}, {}, 1},
          {"data_tensor_zero3", {d2, t2}, {}, 3},
          {"data_sequence_tensor", {d2, s2, t2}, {}},
          {"data_sequence_tensor_zero3", {d2, s2, t2}, fused, 3},
          {"width_cut", {t4}, {}, 0, false, false, false, false, true},
          {"width_cut_rms", {d2, t2}, grouped, 0, false, false, false, false, true},
          {"an_axis_of_one", {{"data", 1}, t2, {"sequence", 1}}, {}, 3}};
}

INSTANTIATE_TEST_SUITE_P(Gpt, SimulatedPlan, testing::ValuesIn(plans()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen
