/// \file Sections: their order, what runs once and what per micro-batch, where a loop must end, what is computed again.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/compiler/plan/batch_graphs.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

/// "forward@0 backward@0 update": names of the sections, with the loop's number where they are in one.
std::string outline(const ScheduledGraph& scheduled) {
  std::string text;
  for (const Section& section : scheduled.sections)
    text += (text.empty() ? "" : " ") + section.name + (section.loop < 0 ? "" : "@" + std::to_string(section.loop));
  return text;
}

std::size_t count(const ScheduledGraph& scheduled, const std::function<bool(const Op&)>& test) {
  std::size_t found = 0;
  for (const Section& section : scheduled.sections)
    found += static_cast<std::size_t>(
        std::count_if(section.ops.begin(), section.ops.end(), [&](OpId id) { return test(scheduled.graph.op(id)); }));
  return found;
}

/// The section of the op that makes a value.
const Section& section_of(const ScheduledGraph& scheduled, ValueId v) {
  const OpId producer = scheduled.graph.value(v).producer;
  for (const Section& section : scheduled.sections)
    if (std::find(section.ops.begin(), section.ops.end(), producer) != section.ops.end()) return section;
  throw std::runtime_error("no section makes the value");
}

ScheduledGraph training(std::int64_t micro_batches) {
  auto made = train_graph(gpt_job(4));
  if (!made) throw std::runtime_error(made.error().text());
  return cut_and_schedule(made->graph, micro_batches);
}

TEST(PlanLoops, OneMicroBatchRunsForwardBackwardAndUpdateOnce) {
  EXPECT_EQ(outline(training(1)), "forward backward update");
}

/// The weight is needed before the first gradient. All else of a micro-batch is one loop, so that no activation
/// outlives its micro-batch; before it run shapes of parameters. What has pieces in the loop alone runs nowhere else.
TEST(PlanLoops, TheWeightIsCountedInALoopBeforeThatOfForwardAndBackward) {
  const ScheduledGraph scheduled = training(2);
  EXPECT_EQ(outline(scheduled), "forward@0 forward backward forward@1 backward@1 update") << print(scheduled.graph);
  EXPECT_EQ(section_of(scheduled, scheduled.graph.output("weight")).loop, 0);
  EXPECT_EQ(section_of(scheduled, scheduled.graph.output("loss")).loop, 1);
}

TEST(PlanLoops, ExpensiveOpsRunInOneLoopOnly) {
  const auto contracts = [](const Op& op) { return op.kind->has(kContraction); };
  EXPECT_EQ(count(training(4), contracts), count(training(1), contracts));
}

TEST(PlanLoops, UpdatesAreMadeOnceAfterTheLastLoop) {
  const ScheduledGraph scheduled = training(4);
  std::set<std::string> targets;
  for (const Section& section : scheduled.sections)
    for (OpId id : section.ops) {
      const Op& op = scheduled.graph.op(id);
      if (op.kind->name != "assign") continue;
      EXPECT_EQ(&section, &scheduled.sections.back());
      EXPECT_TRUE(targets.insert(scheduled.graph.value(op.inputs[0]).name).second) << op.name;
    }
  EXPECT_EQ(scheduled.sections.back().loop, -1);
  EXPECT_EQ(targets.size(), 12u + 12u + 1u) << "parameters, their momentum, the count of updates";
}

TEST(PlanLoops, SectionsKeepTheGraphsOrder) {
  const ScheduledGraph scheduled = training(2);
  std::vector<std::size_t> position(scheduled.graph.op_count(), 0);
  const auto order = scheduled.graph.ops();
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const Section& section : scheduled.sections)
    EXPECT_TRUE(std::is_sorted(section.ops.begin(), section.ops.end(),
                               [&](OpId a, OpId b) { return position[a] < position[b]; }));
}

/// Each row is divided by the sum over all rows, twice: three loops, and the rows are computed anew in each.
TEST(PlanLoops, ASumOverTheBatchThatItsRowsReadEndsTheLoop) {
  GraphMaker m;
  const ValueId x = m.unary(BALEEN_X_EXP, m.batch("x", {6, 4}));
  const ValueId once = m.binary(BALEEN_X_DIV, x, m.sum(x, {0, 1}));
  const ValueId square = m.binary(BALEEN_X_MUL, once, once);
  const ValueId twice = m.binary(BALEEN_X_DIV, square, m.sum(square, {0, 1}));
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, twice, twice), {0, 1}));
  const ScheduledGraph scheduled = cut_and_schedule(m.graph, 3);
  EXPECT_EQ(outline(scheduled), "forward@0 forward@1 forward@2");
  EXPECT_EQ(count(scheduled, [](const Op& op) { return op.kind->name == "accumulate_micro"; }), 3u);
  expect_computes(scheduled, m.graph);
}

TEST(PlanLoops, WhatReadsNoBatchRunsOnceBeforeTheLoopThatReadsIt) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4}), softened = m.unary(BALEEN_X_TANH, m.parameter("w", {4, 4}));
  m.output("y", m.sum(m.matmul("bi,io->bo", x, softened), {0, 1}));
  const ScheduledGraph scheduled = cut_and_schedule(m.graph, 3);
  EXPECT_EQ(outline(scheduled), "forward forward@0");
  EXPECT_EQ(section_of(scheduled, softened).loop, -1);
  expect_computes(scheduled, m.graph);
}

/// A copy of a weight that both passes scale alike, and whose sum the update reads: it is scaled once, and the sum is
/// made before the loop, so that the copy itself need not last.
TEST(PlanLoops, OfACopyTheLoopKeepsWhatItReads) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4}), copy = m.unary(BALEEN_X_TANH, m.parameter("w", {4, 4}));
  const ValueId there = m.sum(m.matmul("bi,io->bo", x, m.scale(copy, 0.5)), {0, 1});
  m.graph.context().phase = Phase::backward;
  m.output("y", m.binary(BALEEN_X_ADD, there, m.sum(m.matmul("bo,io->bi", x, m.scale(copy, 0.5)), {0, 1})));
  const ValueId number = m.sum(m.unary(BALEEN_X_ABS, copy), {0, 1});
  m.graph.context().phase = Phase::update;
  const ValueId most = m.parameter("most", {});
  m.assign(most, m.binary(BALEEN_X_ADD, most, number));
  const ScheduledGraph scheduled = cut_and_schedule(m.graph, 3);
  const auto reads_copy = [&](const Op& op) { return std::ranges::count(op.inputs, copy) > 0; };
  EXPECT_EQ(count(scheduled, reads_copy), 2u) << print(scheduled.graph);
  EXPECT_EQ(outline(scheduled), "forward backward forward@0 backward@0 update");
  EXPECT_EQ(section_of(scheduled, number).name, "backward");
  EXPECT_EQ(section_of(scheduled, number).loop, -1);
  for (const OpId id : scheduled.sections[0].ops)
    EXPECT_EQ(scheduled.graph.value(scheduled.graph.op(id).outputs[0]).role, Role::parameter) << "a copy of it";
  expect_computes(scheduled, m.graph);
}

/// A parameter that is gathered in every micro-batch, and a term of the loss that reads it without the batch: the term,
/// its gradient, the norm of all gradients and the updates are no matter of a micro-batch.
TEST(PlanLoops, WhatNoLoopNeedsRunsOnceThoughItReadsWhatRunsInEveryMicroBatch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4}), w = m.parameter("w", {4, 4});
  const ValueId gathered = m.unary(BALEEN_X_TANH, w), other = m.unary(BALEEN_X_EXP, w);
  for (const ValueId v : {gathered, other})
    m.graph.op(m.graph.value(v).producer).schedule.edit().every_micro_batch = true;
  const ValueId product = m.sum(m.matmul("bi,io->bo", x, m.binary(BALEEN_X_MUL, gathered, other)), {0, 1});
  const ValueId term = m.sum(m.binary(BALEEN_X_MUL, gathered, gathered), {0, 1});
  m.output("y", m.binary(BALEEN_X_ADD, product, term));
  m.assign(w, m.binary(BALEEN_X_SUB, w, m.scale(gathered, 0.5)));
  const ScheduledGraph scheduled = cut_and_schedule(m.graph, 3);
  EXPECT_EQ(outline(scheduled), "forward@0 forward") << print(scheduled.graph);
  EXPECT_EQ(section_of(scheduled, gathered).loop, 0);
  EXPECT_EQ(section_of(scheduled, term).loop, -1);
  const auto is = [](const char* kind) { return [kind](const Op& op) { return op.kind->name == kind; }; };
  EXPECT_EQ(count(scheduled, [](const Op& op) { return op.schedule->every_micro_batch; }), 2u)
      << "one copy for what runs once is not of every micro-batch";
  for (const OpId id : scheduled.sections[0].ops) EXPECT_FALSE(is("assign")(scheduled.graph.op(id)));
  EXPECT_EQ(count(scheduled, is("assign")), 1u);
}

TEST(PlanLoops, AGraphWithoutABatchRunsOnce) {
  GraphMaker m;
  const ValueId w = m.parameter("w", {4});
  m.assign(w, m.scale(w, 0.5));
  EXPECT_EQ(outline(cut_and_schedule(m.graph, 3)), "forward");
}

/// The mask is drawn along dimension 1 and needed in two loops: its copies must not be taken for one another.
TEST(PlanLoops, AMaskAlongALaterDimensionIsDrawnInEachLoop) {
  GraphMaker m;
  const ValueId x = m.transpose(m.batch("x", {6, 4}), {1, 0});
  Expression e;
  const auto noise = e.random(BALEEN_X_UNIFORM, 7);
  const ValueId mask = m.op("pointwise", {},
                            {{"expression", std::move(e)},
                             {"results", Attributes::ints({noise})},
                             {"shape", Attributes::ints({4, 6})},
                             {"dtype", Attributes::ints({BALEEN_F64})}});
  const ValueId masked = m.binary(BALEEN_X_MUL, x, mask);
  const ValueId share = m.binary(BALEEN_X_DIV, masked, m.sum(masked, {0, 1}));
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, share, mask), {0, 1}));
  expect_computes(cut_and_schedule(m.graph, 3), m.graph);
}

/// What a script draws for all rows, and what it makes of it element by element before it meets the batch.
TEST(PlanLoops, WhatIsMadeOfAMaskIsMadeInEachMicroBatch) {
  GraphMaker m;
  const ValueId x = m.batch("x", {6, 4});
  Expression e;
  const auto noise = e.random(BALEEN_X_UNIFORM, 7);
  const ValueId drawn = m.op("pointwise", {},
                             {{"expression", std::move(e)},
                              {"results", Attributes::ints({noise})},
                              {"shape", Attributes::ints({6, 4})},
                              {"dtype", Attributes::ints({BALEEN_F64})}});
  const ValueId softened = m.unary(BALEEN_X_TANH, drawn);
  const ValueId both = m.binary(BALEEN_X_ADD, m.binary(BALEEN_X_MUL, softened, softened), drawn);
  m.output("y", m.sum(m.binary(BALEEN_X_MUL, x, both), {0, 1}));
  m.output("weight", m.sum(both, {0, 1}));
  expect_computes(cut_and_schedule(m.graph, 3), m.graph);
}

TEST(PlanLoops, RandomGraphsComputeWhatTheWholeBatchDoes) {
  std::size_t most_sections = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Graph graph = random_batch_graph(seed, 24);
    for (std::int64_t micro : {2, 3}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", micro-batches " + std::to_string(micro));
      const ScheduledGraph scheduled = cut_and_schedule(graph, micro);
      most_sections = std::max(most_sections, scheduled.sections.size());
      ASSERT_NO_THROW(expect_computes(scheduled, graph, seed));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(most_sections, 6u) << "the graphs have too few barriers to show anything";
}

}  // namespace
}  // namespace baleen::test
