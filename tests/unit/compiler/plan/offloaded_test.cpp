/// \file Which states may lie in an offload store: what a strategy is refused, and what a job's graphs agree upon.
#include <gtest/gtest.h>

#include "baleen/plugin.hpp"
#include "compiler/plan/strategy_verbs.hpp"
#include "unit/compiler/codegen/graphs.hpp"

namespace baleen::test {
namespace {

/// A state that the update reads and assigns, one that the forward pass reads, one that nothing assigns.
class Offloaded : public testing::Test {
 protected:
  Offloaded() {
    m_.graph.context().phase = Phase::forward;
    w_ = m_.parameter("w", {4});
    const ValueId x = x_ = m_.batch("x", {4});
    forward_ = m_.state("forward", {4});
    product_ = m_.binary(BALEEN_X_MUL, w_, x);
    m_.output("y", m_.binary(BALEEN_X_ADD, forward_, product_));
    m_.graph.context().phase = Phase::update;
    good_ = m_.state("good", {4});
    read_ = m_.state("read", {4});
    m_.assign(good_, m_.binary(BALEEN_X_ADD, good_, x));
    m_.assign(forward_, m_.scale(x, 2));
    m_.assign(w_, m_.binary(BALEEN_X_ADD, read_, w_));
  }

  /// The text of the refusal, or "".
  std::string ask(ValueId state, std::uint32_t ahead) {
    const baleen_mesh_t mesh{sizeof(baleen_mesh_t), nullptr, 0};
    std::vector<PipelineSchedule> pipelines;
    ScheduleVerbs verbs(m_.graph, mesh, 1, pipelines, lack_);
    const baleen_status_t status = verbs.table()->set_offloaded(verbs.table()->self, state, ahead);
    EXPECT_EQ(status, verbs.status() ? BALEEN_OK : BALEEN_INVALID);
    return verbs.status() ? "" : verbs.status().error().message;
  }
  /// Whether it may be updated where it lies; the text of the refusal, or "".
  std::string ask_host(ValueId value) {
    const baleen_mesh_t mesh{sizeof(baleen_mesh_t), nullptr, 0};
    std::vector<PipelineSchedule> pipelines;
    ScheduleVerbs verbs(m_.graph, mesh, 1, pipelines, lack_);
    static_cast<void>(verbs.table()->update_on_host(verbs.table()->self, value));
    return verbs.status() ? "" : verbs.status().error().message;
  }
  void expect_refused(ValueId state, std::uint32_t ahead, const std::string& words) {
    const std::string told = ask(state, ahead);
    EXPECT_NE(told.find(words), std::string::npos) << told;
  }
  std::vector<PlannedGraph> graphs(GraphRole second) const {
    std::vector<PlannedGraph> list(2);
    list[0] = {"train", GraphRole::train, {m_.graph, 1, {}, {}}};
    GraphMaker other;
    other.output("z", other.scale(other.state("good", {4}), 3));
    list[1] = {"other", second, {std::move(other.graph), 1, {}, {}}};
    return list;
  }

  GraphMaker m_;
  Lack lack_;
  ValueId w_ = kNone, x_ = kNone, product_ = kNone, forward_ = kNone, good_ = kNone, read_ = kNone;
};

TEST_F(Offloaded, WhatLacksIsToldAndWhoAsksIsKnown) {
  const baleen_mesh_t mesh{sizeof(baleen_mesh_t), nullptr, 0};
  std::vector<PipelineSchedule> pipelines;
  lack_.bytes = 77;
  ScheduleVerbs verbs(m_.graph, mesh, 1, pipelines, lack_);
  const baleen_schedule_t& table = *verbs.table();
  EXPECT_FALSE(lack_.is_asked);
  EXPECT_EQ(table.lacking_bytes(table.self), 77u);
  EXPECT_TRUE(lack_.is_asked);
  EXPECT_FALSE(lack_.could_do_more);
  table.could_do_more(table.self);
  EXPECT_TRUE(lack_.could_do_more);
}

TEST_F(Offloaded, AStateOfTheUpdateMayBe) {
  EXPECT_EQ(ask(good_, 3), "");
  EXPECT_EQ(m_.graph.value(good_).offloaded_ahead, 3u);
  EXPECT_NE(print(m_.graph).find("[offloaded_ahead=3]"), std::string::npos);
}

TEST_F(Offloaded, WhatLiesOutsideMayBeUpdatedThere) {
  EXPECT_NE(ask_host(good_).find("is not offloaded, so it cannot be updated where it lies"), std::string::npos);
  EXPECT_NE(ask_host(12345).find("is not offloaded"), std::string::npos);
  ASSERT_EQ(ask(good_, 3), "");
  ASSERT_EQ(ask(product_, 3), "");
  EXPECT_NE(ask_host(product_).find("is made in each step, so it is not updated"), std::string::npos);
  EXPECT_EQ(ask_host(good_), "");
  EXPECT_NE(print(m_.graph).find("[updated_on_host]"), std::string::npos);
  std::vector<PersistentSpec> specs{{"good", {BALEEN_F64, {4}, {}}, Role::state, "optimizer"}};
  ASSERT_TRUE(settle_offloaded(specs, graphs(GraphRole::train)));
  EXPECT_TRUE(specs[0].updated_on_host);
}

TEST_F(Offloaded, AParameterMayBeWhateverReadsIt) {
  EXPECT_EQ(ask(w_, 2), "");
  EXPECT_EQ(m_.graph.value(w_).offloaded_ahead, 2u);
  std::vector<PersistentSpec> specs{{"w", {BALEEN_F64, {4}, {}}, Role::parameter, "parameters"}};
  auto list = graphs(GraphRole::evaluate);
  GraphMaker other;
  other.output("z", other.scale(other.parameter("w", {4}), 3));
  list[1].scheduled.graph = std::move(other.graph);
  ASSERT_TRUE(settle_offloaded(specs, list));
  EXPECT_EQ(specs[0].offloaded_ahead, 2u);
}

TEST_F(Offloaded, WhatOpsMakeMayBe) {
  EXPECT_EQ(ask(product_, 4), "");
  EXPECT_EQ(m_.graph.value(product_).offloaded_ahead, 4u);
  expect_refused(product_, 0, "1 to 64 uses ahead, and not 0");
}

TEST_F(Offloaded, OthersAreRefusedWithTheReason) {
  expect_refused(x_, 1, "`x` cannot be offloaded: no op computes it");
  expect_refused(forward_, 1, "`forward` cannot be offloaded: ");
  expect_refused(forward_, 1, "reads it before the update");
  expect_refused(read_, 1, "it is assigned 0 times in a step");
  expect_refused(good_, 0, "1 to 64 uses ahead, and not 0");
  expect_refused(good_, 65, "1 to 64 uses ahead, and not 65");
  expect_refused(4711, 1, "there is no value number 4711");
  EXPECT_EQ(ask(good_, 1), "");
  expect_refused(good_, 1, "it is offloaded already");
}

TEST_F(Offloaded, AGraphThatIsNoTrainingStepMayNotReadIt) {
  ASSERT_EQ(ask(good_, 2), "");
  std::vector<PersistentSpec> specs{{"good", {BALEEN_F64, {4}, {}}, Role::state, "optimizer"},
                                    {"read", {BALEEN_F64, {4}, {}}, Role::state, "optimizer"}};
  const Status refused = settle_offloaded(specs, graphs(GraphRole::evaluate));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("state `good` cannot be offloaded: the graph `other` reads it"),
            std::string::npos)
      << refused.error().message;
  ASSERT_TRUE(settle_offloaded(specs, graphs(GraphRole::train)));
  EXPECT_EQ(specs[0].offloaded_ahead, 2u);
  EXPECT_FALSE(specs[1].offloaded_ahead);
}

}  // namespace
}  // namespace baleen::test
