/// \file Forward ops that run again in the backward pass: what is copied, what reads the copies, and what a graph holds
/// at once.
#include "compiler/plan/passes.hpp"

#include <gtest/gtest.h>

#include "support/reference_interpreter.hpp"
#include "unit/compiler/plan/scheduled_run.hpp"
#include "unit/compiler/plan/small_jobs.hpp"

namespace baleen::test {
namespace {

Graph gpt() { return std::move(train_graph(gpt_job(6))->graph); }

/// Of a kind, in the forward pass.
std::vector<OpId> forward(const Graph& graph, const std::string& kind) {
  std::vector<OpId> found;
  for (const OpId id : graph.ops())
    if (graph.op(id).phase == Phase::forward && graph.op(id).kind->name == kind) found.push_back(id);
  return found;
}

std::size_t copies_of(const Graph& graph, OpId first) {
  const auto ops = graph.ops();
  return static_cast<std::size_t>(std::count_if(ops.begin(), ops.end(), [&](OpId id) {
    const Op& op = graph.op(id);
    return op.phase == Phase::backward && op.forward_op == first && op.kind == graph.op(first).kind &&
           op.name == graph.op(first).name &&
           graph.type(op.outputs[0]).shape == graph.type(graph.op(first).outputs[0]).shape;
  }));
}

std::map<std::string, Numbers> results(const Graph& graph) {
  ReferenceInterpreter run(graph);
  auto sources = random_sources(graph, 3);
  sources["optimizer.updates"] = {0};
  for (const auto& [name, numbers] : sources) run.set(name, numbers);
  run.run();
  std::map<std::string, Numbers> all;
  for (const auto& [name, tensor] : run.assigned()) all[name] = tensor.data;
  return all;
}

std::uint64_t peak(Graph graph) { return working_peak(*schedule_loops(std::move(graph), 1)); }

TEST(RunAgain, ReadersInTheBackwardPassReadTheCopy) {
  Graph graph = gpt();
  const auto before = results(graph);
  std::vector<OpId> ops = forward(graph, "norm");
  ASSERT_EQ(ops.size(), 2u);
  ASSERT_TRUE(run_again(graph, ops));
  ASSERT_TRUE(verify(graph)) << verify(graph).error().text();
  for (const OpId id : ops)
    for (const ValueId v : graph.op(id).outputs)
      for (const OpId user : graph.value(v).users) EXPECT_NE(graph.op(user).phase, Phase::backward) << print(graph);
  EXPECT_EQ(results(graph), before) << "every digit";
}

/// A chain: what the last one reads is made again too, and nothing else.
TEST(RunAgain, CopiesReadCopies) {
  Graph graph = gpt();
  std::vector<OpId> ops = forward(graph, "norm"), products = forward(graph, "matmul");
  const std::size_t before = graph.ops().size();
  ops.insert(ops.end(), products.begin(), products.end());
  ASSERT_TRUE(run_again(graph, ops));
  ASSERT_TRUE(verify(graph)) << verify(graph).error().text();
  EXPECT_GT(graph.ops().size(), before);
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    if (op.phase != Phase::backward || op.kind->name != "matmul" || op.forward_op == kNone) continue;
    for (const ValueId v : op.inputs) {
      const Op& producer = *graph.producer(v);
      EXPECT_FALSE(producer.phase == Phase::forward && producer.kind->name == "norm") << print(graph);
    }
  }
}

/// The last product's result is read by the loss alone, which the backward pass makes anew: nobody needs a copy.
TEST(RunAgain, WhatNoBackwardOpNeedsIsLeftAlone) {
  Graph graph = gpt();
  const std::uint64_t before = hash(graph);
  std::vector<OpId> unread;
  for (const OpId id : graph.ops()) {
    const Op& op = graph.op(id);
    const auto read = [&](ValueId v) {
      const auto& users = graph.value(v).users;
      return std::any_of(users.begin(), users.end(), [&](OpId u) { return graph.op(u).phase == Phase::backward; });
    };
    if (op.phase == Phase::forward && op.kind->name == "matmul" &&
        std::none_of(op.outputs.begin(), op.outputs.end(), read))
      unread.push_back(id);
  }
  ASSERT_FALSE(unread.empty());
  ASSERT_TRUE(run_again(graph, {unread.back()}));
  EXPECT_EQ(hash(graph), before);
  EXPECT_EQ(copies_of(graph, unread.back()), 0u);
}

TEST(RunAgain, HoldsLessAtOnce) {
  Graph graph = gpt();
  const std::uint64_t before = peak(graph);
  std::vector<OpId> ops = forward(graph, "norm"), cheap = forward(graph, "pointwise");
  ops.insert(ops.end(), cheap.begin(), cheap.end());
  ASSERT_TRUE(run_again(graph, ops));
  EXPECT_LT(peak(graph), before);
}

TEST(RunAgain, WhatCannotIsNamed) {
  Graph graph = gpt();
  const auto refusal = [&](OpId id) {
    Graph copy = graph;
    const Status status = run_again(copy, {id});
    return status ? "accepted" : status.error().message;
  };
  const OpId weight = graph.producer(*graph.parameter("up.weight", {BALEEN_F64, {4, 6}, {}}))->id;
  EXPECT_EQ(refusal(weight),
            "op " + std::to_string(weight) + " (parameter, `up.weight`) has nothing that could run again");
  EXPECT_EQ(refusal(100000), "there is no op number 100000");
  for (const OpId id : graph.ops())
    if (graph.op(id).phase == Phase::backward) {
      EXPECT_NE(refusal(id).find("is of another pass than forward: it cannot run again"), std::string::npos);
      break;
    }
  const OpId norm = forward(graph, "norm").front();
  graph.op(norm).schedule.owner = "sequence";
  EXPECT_NE(refusal(norm).find("is lowered by strategy `sequence`: it cannot run again"), std::string::npos);
}

/// Three values of 1024 bytes, of which two are there at any time, and the input until it is read.
TEST(WorkingPeak, IsWhatIsThereAtOnce) {
  GraphMaker m;
  ValueId x = m.batch("x", {128, 1});
  for (const char* name : {"a", "b", "c"}) x = m.matmul("bi,io->bo", x, m.parameter(name, {1, 1}));
  m.output("y", x);
  EXPECT_EQ(working_peak(*schedule_loops(m.graph, 1)), 2 * 1024u);
}

}  // namespace
}  // namespace baleen::test
