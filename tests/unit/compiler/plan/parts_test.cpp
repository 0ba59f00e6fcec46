/// \file What a pipeline schedule may say, and the parts of a micro-batch that it takes apart.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

using Pass = MicroPart::Pass;
using Actions = std::vector<baleen_pipeline_action_t>;

// NOLINTNEXTLINE(readability-identifier-naming): as schedules are drawn
constexpr baleen_pass_t F = BALEEN_PASS_FORWARD, B = BALEEN_PASS_BACKWARD, W = BALEEN_PASS_WEIGHT_GRADIENTS;

/// The message that actions of two micro-batches get; "accepted" where there is none.
std::string check(const Actions& actions) {
  const auto checked = checked_actions(actions, 2);
  return checked ? "accepted" : checked.error().message;
}

TEST(PipelineActions, KeepTheOrderOfPassesChunksAndMicroBatches) {
  EXPECT_EQ(check({{F, 0, 0, 0}, {F, 1, 0, 0}, {B, 0, 0, 0}, {B, 1, 0, 0}}), "accepted");
  EXPECT_EQ(check({{F, 0, 0, 0}, {B, 0, 0, 0}, {F, 1, 0, 0}, {B, 1, 0, 0}, {W, 0, 0, 0}, {W, 1, 0, 0}}), "accepted");
  EXPECT_EQ(check({{F, 0, 0, 0},
                   {F, 1, 0, 0},
                   {F, 0, 1, 0},
                   {B, 0, 1, 0},
                   {F, 1, 1, 0},
                   {B, 0, 0, 0},
                   {B, 1, 1, 0},
                   {B, 1, 0, 0}}),
            "accepted");
}

TEST(PipelineActions, OutOfOrderAreNamed) {
  const std::string chunk = " of chunk 0 of micro-batch ";
  EXPECT_EQ(check({{F, 1, 0, 0}}), "action 1 is the forward pass" + chunk + "1, out of order: micro-batch 0 is next");
  EXPECT_EQ(check({{B, 0, 0, 0}}), "action 1 is the backward pass" + chunk + "0, before the forward pass of chunk 0");
  EXPECT_EQ(check({{F, 0, 0, 0}, {W, 0, 0, 0}}),
            "action 2 is the weight gradient pass" + chunk + "0, before the backward pass of chunk 0");
  EXPECT_EQ(check({{F, 0, 1, 0}}),
            "action 1 is the forward pass of chunk 1 of micro-batch 0, before the forward pass of chunk 0");
  EXPECT_EQ(check({{F, 0, 0, 0}, {F, 0, 1, 0}, {B, 0, 0, 0}}),
            "action 3 is the backward pass" + chunk + "0, before the backward pass of chunk 1");
}

TEST(PipelineActions, ThatLackAPassAreRefused) {
  EXPECT_EQ(check({{F, 0, 0, 0}, {F, 1, 0, 0}, {B, 0, 0, 0}}),
            "a pipeline schedule does the backward pass of chunk 0 for 1 of 2 micro-batches");
  EXPECT_EQ(check({{F, 0, 0, 0}, {F, 1, 0, 0}, {B, 0, 0, 0}, {B, 1, 0, 0}, {W, 0, 0, 0}}),
            "a pipeline schedule does the weight gradient pass of chunk 0 for 1 of 2 micro-batches");
  EXPECT_EQ(check({{3, 0, 0, 0}}), "micro-batches have no part number 3");
  EXPECT_EQ(check({{F, 0, 256, 0}}), "a model has chunks 0 to 255 on a rank, and no chunk 256");
}

PipelineSchedule with(MicroPart part) { return {0, 0, {{part, 0}}}; }

Graph training() {
  auto made = train_graph(gpt_job(4));
  if (!made) throw std::runtime_error(made.error().text());
  return std::move(made->graph);
}

bool stands_in(const Section& section, OpId op) { return std::ranges::find(section.ops, op) != section.ops.end(); }

std::size_t contractions(const ScheduledGraph& scheduled, const Section& section) {
  return static_cast<std::size_t>(
      std::ranges::count_if(section.ops, [&](OpId op) { return scheduled.graph.op(op).kind->has(kContraction); }));
}

const Section& section_of(const ScheduledGraph& scheduled, Pass pass) {
  for (const Section& section : scheduled.sections)
    if (section.loop >= 0 && section.part.pass == pass && contractions(scheduled, section) > 0) return section;
  throw std::runtime_error("no such section");
}

/// One contraction of each matrix, and nobody but the update waits for them.
TEST(WeightGradients, AreWhatNoOtherOpOfTheBackwardPassNeeds) {
  const Graph graph = training();
  const ScheduledGraph scheduled = cut_and_schedule(graph, 2, {with({Pass::weight_gradients, 0})});
  const Section &weights = section_of(scheduled, Pass::weight_gradients),
                &backward = section_of(scheduled, Pass::backward), &forward = section_of(scheduled, Pass::forward);
  EXPECT_EQ(weights.name, "weight_gradients");
  std::size_t matrices = 0;
  for (const OpId op : forward.ops)
    for (const ValueId v : scheduled.graph.op(op).inputs)
      matrices += scheduled.graph.op(op).kind->has(kContraction) && scheduled.graph.value(v).role == Role::parameter;
  EXPECT_EQ(contractions(scheduled, weights), matrices);
  EXPECT_GT(contractions(scheduled, backward), 0u);
  for (const OpId op : weights.ops)
    for (const ValueId v : scheduled.graph.op(op).outputs)
      for (const OpId user : scheduled.graph.value(v).users)
        EXPECT_FALSE(stands_in(backward, user)) << print(scheduled.graph);
  expect_computes(scheduled, graph);
}

/// The second half of the forward contractions is another chunk.
ScheduledGraph halves(Graph& graph) {
  std::vector<OpId> forward;
  for (const OpId op : graph.ops())
    if (graph.op(op).phase == Phase::forward && graph.op(op).kind->has(kContraction)) forward.push_back(op);
  for (std::size_t i = forward.size() / 2; i < forward.size(); ++i) graph.op(forward[i]).schedule.edit().chunk = 1;
  return cut_and_schedule(graph, 2, {with({Pass::forward, 1})});
}

TEST(Chunks, AscendInTheForwardPassAndDescendInTheBackwardPass) {
  Graph graph = training();
  const ScheduledGraph scheduled = halves(graph);
  std::vector<MicroPart> parts;
  for (const Section& section : scheduled.sections)
    if (section.loop >= 0 && contractions(scheduled, section) > 0) parts.push_back(section.part);
  EXPECT_EQ(parts,
            (std::vector<MicroPart>{{Pass::forward, 0}, {Pass::forward, 1}, {Pass::backward, 1}, {Pass::backward, 0}}));
  expect_computes(scheduled, graph);
}

TEST(Chunks, ThatNeedALaterOneAreRefused) {
  Graph graph = training();
  const std::vector<OpId> ops = graph.ops();
  const auto first = std::ranges::find_if(
      ops, [&](OpId op) { return graph.op(op).phase == Phase::forward && graph.op(op).kind->has(kContraction); });
  graph.op(*first).schedule.edit().chunk = 1;
  for (const OpId user : Ids(graph.value(graph.op(*first).outputs[0]).users))
    if (graph.op(user).phase == Phase::forward) graph.op(user).schedule.edit().chunk = 0;
  try {
    cut_and_schedule(graph, 2, {with({Pass::forward, 1})});
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find(" is of chunk 0 and needs "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(" of chunk 1, which comes later"), std::string::npos) << e.what();
    return;
  }
  FAIL() << "it was accepted";
}

}  // namespace
}  // namespace baleen::test
