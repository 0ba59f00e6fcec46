/// \file What placed GPTs of the product's own ops send, against the textbooks' formulas.
#include <gtest/gtest.h>

#include "compiler/placement/passes.hpp"
#include "gpt_plans.hpp"
#include "placed_traffic.hpp"

namespace baleen {
namespace {

using test::GptGraph;

/// One plan's rows, and the sizes that formulas need. Bytes are of fp64.
class GptTraffic : public testing::Test {
 protected:
  void place(const std::string& name) {
    const test::GptPlan& plan = test::gpt_plan(name);
    gpt_ = std::make_unique<GptGraph>(plan.model);
    gpt_->graph.set_mesh({plan.axes});
    const PlacementRequest request = test::request_of(plan, *gpt_);
    const auto placed = propagate(gpt_->graph, request);
    ASSERT_TRUE(placed) << placed.error().text();
    rows_ = test::traffic(test::transfers(gpt_->graph, request, *placed), kScalar);
    layers_ = plan.model.layers;
    activation_ = 8.0 * static_cast<double>(plan.model.batch * plan.model.sequence * plan.model.hidden);
  }

  /// Takes the row away.
  void expect(Phase phase, const std::string& axis, const std::string& kind, std::int64_t count, double bytes) {
    for (auto it = rows_.begin(); it != rows_.end(); ++it) {
      if (it->phase != phase || it->axis != axis || it->kind != kind) continue;
      EXPECT_EQ(it->count, count) << table_text(std::vector{*it});
      EXPECT_NEAR(it->bytes, bytes, 1e-6) << table_text(std::vector{*it});
      rows_.erase(it);
      return;
    }
    ADD_FAILURE() << "no " << kind << " along " << axis << " in\n" << table_text(rows_);
  }
  void expect_no_more() { EXPECT_TRUE(rows_.empty()) << table_text(rows_); }

  std::int64_t parameters() const { return static_cast<std::int64_t>(gpt_->trained.size()); }
  double parameter_bytes(const std::function<bool(ValueId)>& counts = [](ValueId) { return true; }) const {
    double sum = 0;
    for (const TrainedParameter& p : gpt_->trained)
      if (counts(p.parameter)) sum += 8.0 * static_cast<double>(element_count(gpt_->graph.value(p.parameter).shape));
    return sum;
  }
  bool read_in_backward(ValueId v) const {
    for (OpId user : gpt_->graph.value(v).users)
      if (gpt_->graph.op(user).phase == Phase::backward) return true;
    return false;
  }

  static constexpr double kScalar = 16;  ///< a scalar's all-reduce sends less
  static constexpr auto kForward = Phase::forward, kBackward = Phase::backward, kUpdate = Phase::update;
  std::unique_ptr<GptGraph> gpt_;
  std::vector<test::TrafficRow> rows_;
  std::int64_t layers_ = 0;
  double activation_ = 0;
};

TEST_F(GptTraffic, DataParallelReducesEachGradientOnce) {
  place("data2");
  expect(kBackward, "data", "all_reduce", parameters(), 2 * 0.5 * parameter_bytes());
  expect_no_more();
}

TEST_F(GptTraffic, ZeroOneScattersGradientsAndGathersParameters) {
  place("zero1");
  expect(kBackward, "data", "reduce_scatter", parameters(), 0.5 * parameter_bytes());
  expect(kUpdate, "data", "all_gather", parameters(), 0.5 * parameter_bytes());
  expect_no_more();
}

TEST_F(GptTraffic, ZeroThreeGathersWhatForwardAndBackwardRead) {
  place("zero3");
  const auto read = [this](ValueId v) { return read_in_backward(v); };
  expect(kForward, "data", "all_gather", parameters(), 0.75 * parameter_bytes());
  expect(kBackward, "data", "all_gather", 4 * layers_ + 2 * layers_ + 2, 0.75 * parameter_bytes(read));
  expect(kBackward, "data", "reduce_scatter", parameters(), 0.75 * parameter_bytes());
  expect_no_more();
}

TEST_F(GptTraffic, FlatShardsSendAsMuchAsOthers) {
  place("zero1_flat");
  expect(kBackward, "data", "reduce_scatter", parameters(), 2.0 / 3 * parameter_bytes());
  expect(kUpdate, "data", "all_gather", parameters(), 2.0 / 3 * parameter_bytes());
  expect_no_more();
}

TEST_F(GptTraffic, TensorParallelReducesTwiceAPassAndLayer) {
  for (const char* name : {"tensor2", "tensor2_fused", "tensor2_grouped"}) {
    SCOPED_TRACE(name);
    place(name);
    for (Phase phase : {kForward, kBackward})
      expect(phase, "tensor", "all_reduce", 2 * layers_ + 1,
             static_cast<double>(2 * layers_ + 1) * 2 * 0.5 * activation_);
    expect(kForward, "tensor", "internal", 1,
           2 * 0.5 * 3 * activation_ / 8);  // three numbers for each of B x S rows, width 8
    expect_no_more();
  }
}

TEST_F(GptTraffic, HeadsForSequencesAreFourAllToAllsALayer) {
  place("sequence2");
  const double moved = 0.5 * activation_ / 2;
  expect(kForward, "sequence", "all_to_all", 4 * layers_, static_cast<double>(4 * layers_) * moved);
  // Of the three gradients that come back one joint tensor is turned.
  expect(kBackward, "sequence", "all_to_all", 2 * layers_, static_cast<double>(4 * layers_) * moved);
  const double positions = 8.0 * 4 * 8;
  expect(kBackward, "sequence", "all_reduce", parameters() - 1, 2 * 0.5 * (parameter_bytes() - positions));
  expect(kBackward, "sequence", "all_gather", 1, 0.5 * positions);
  expect_no_more();
}

TEST_F(GptTraffic, BalancedSequencesSendNoMore) {
  place("sequence2");
  const std::string plain = table_text(rows_);
  place("sequence2_balanced");
  EXPECT_EQ(table_text(rows_), plain);
}

TEST_F(GptTraffic, ATiedTableIsReducedOnceOnAMeshOfTwoAxes) {
  place("data_tensor");
  const auto cut = [this](ValueId v) {
    const std::string kind = GptGraph::kind(gpt_->graph.value(v).name);
    return kind == "embedding" || kind == "qkv" || kind == "qkv_bias" || kind == "out" || kind == "up" ||
           kind == "up_bias" || kind == "down";
  };
  const double local = parameter_bytes() - 0.5 * parameter_bytes(cut);
  expect(kBackward, "data", "all_reduce", parameters(), 2 * 0.5 * local);
  for (Phase phase : {kForward, kBackward})
    expect(phase, "tensor", "all_reduce", 2 * layers_ + 1,
           static_cast<double>(2 * layers_ + 1) * 2 * 0.5 * activation_ / 2);
  expect(kForward, "tensor", "internal", 1, 2 * 0.5 * 3 * activation_ / 8 / 2);
  expect_no_more();
}

TEST_F(GptTraffic, OnEveryRowStandsAPhaseAnAxisAndAKind) {
  place("data2");
  EXPECT_EQ(table_text(rows_), "backward data all_reduce: 29, bytes 15872\n");
}

}  // namespace
}  // namespace baleen
