/// \file Forward ops that run again in the backward pass: what is copied, what reads the copies, and what a graph holds
/// at once.
#include "compiler/plan/passes.hpp"

#include <gtest/gtest.h>

#include "compiler/plan/strategy_verbs.hpp"
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
  graph.op(norm).schedule.edit().owner = "sequence";
  EXPECT_NE(refusal(norm).find("is lowered by strategy `sequence`: it cannot run again"), std::string::npos);
}

TEST(RunAgain, MarksItsCopies) {
  Graph graph = gpt();
  ASSERT_TRUE(run_again(graph, forward(graph, "norm")));
  std::size_t marked = 0;
  for (const OpId id : graph.ops())
    if (const Op& op = graph.op(id); op.schedule->recomputed) {
      ++marked;
      EXPECT_EQ(op.phase, Phase::backward);
      EXPECT_EQ(op.kind, graph.op(op.forward_op).kind);
      EXPECT_TRUE(shown_tags(op).contains("recomputed"));
    }
  EXPECT_EQ(marked, 2u);
}

/// Each rank has its share of what an axis cuts, and all of what none does.
TEST(RecomputeVerbs, CountWhatOneRankComputes) {
  GraphMaker m;
  const ValueId x = m.batch("x", {8, 4}), y = m.matmul("bi,io->bo", x, m.parameter("w", {4, 16}));
  m.output("y", y);
  m.graph.set_mesh({{{"data", 2}, {"tensor", 4}}});
  const baleen_mesh_t mesh{sizeof(baleen_mesh_t), nullptr, 0};
  const auto flops = [&](const Layout& of_x, const Layout& of_y) {
    m.graph.value(x).layout = of_x;
    m.graph.value(y).layout = of_y;
    RecomputeVerbs verbs(m.graph, mesh, 1, 77, nullptr);
    EXPECT_EQ(verbs.table()->budget, 77u);
    EXPECT_EQ(verbs.table()->flops(verbs.table()->self, 100000), 0);
    return verbs.table()->flops(verbs.table()->self, m.graph.value(y).producer);
  };
  const Placement whole = Placement::replicate(), rows = Placement::shard(0), columns = Placement::shard(1);
  EXPECT_EQ(flops({}, {}), 2 * 8 * 4 * 16);
  EXPECT_EQ(flops({whole, whole}, {whole, whole}), 2 * 8 * 4 * 16);
  EXPECT_EQ(flops({rows, whole}, {rows, whole}), 8 * 4 * 16);
  EXPECT_EQ(flops({rows, whole}, {rows, columns}), 2 * 4 * 16);
}

/// Three values of 1024 bytes, of which two are there at any time, and the input until it is read.
TEST(WorkingPeak, IsWhatIsThereAtOnce) {
  GraphMaker m;
  ValueId x = m.batch("x", {128, 1});
  for (const char* name : {"a", "b", "c"}) x = m.matmul("bi,io->bo", x, m.parameter(name, {1, 1}));
  m.output("y", x);
  EXPECT_EQ(working_peak(*schedule_loops(m.graph, 1)), 2 * 1024u);
}

/// What the host reads lives to the end: "y" beside the two values that come later.
TEST(WorkingPeak, CountsOutputsToTheEnd) {
  GraphMaker m;
  ValueId x = m.batch("x", {128, 1});
  std::vector<ValueId> all;
  for (const char* name : {"a", "b", "c", "d"}) all.push_back(x = m.matmul("bi,io->bo", x, m.parameter(name, {1, 1})));
  m.output("y", all[0]);
  m.output("z", all[3]);
  EXPECT_EQ(working_peak(*schedule_loops(m.graph, 1)), 3 * 1024u);
}

/// Parameters that are gathered once and stay are model states, as in a plan's table.
TEST(WorkingPeak, LeavesOutGatheredParameters) {
  GraphMaker m;
  m.graph.set_mesh({{{"data", 2}}});
  const ValueId x = m.batch("x", {128, 1});
  const ValueId whole = m.op("all_gather", {m.parameter("w", {1, 1024})},
                             {{"axes", Attributes::ints({0})}, {"from", std::string("S1")}, {"to", std::string("R")}});
  m.output("y", m.matmul("bi,io->bo", x, whole));
  const std::uint64_t as_activation = working_peak(*schedule_loops(m.graph, 1));
  m.graph.value(whole).role = Role::parameter;
  EXPECT_EQ(working_peak(*schedule_loops(m.graph, 1)), as_activation - 8192);
}

/// A collective begins when its operand is made and is over where its result is first read: both are held meanwhile.
TEST(WorkingPeak, CountsWhatCollectivesHold) {
  const auto peak_with = [](bool early) {
    GraphMaker m;
    m.graph.set_mesh({{{"data", 2}}});
    const ValueId x = m.batch("x", {128, 1});
    const ValueId a = m.matmul("bi,io->bo", x, m.parameter("a", {1, 1}));
    const auto collective = [&] {
      return m.op("all_reduce", {a},
                  {{"axes", Attributes::ints({0})}, {"from", std::string("P")}, {"to", std::string("R")}});
    };
    ValueId sum = early ? collective() : kNone;
    ValueId b = x;
    for (const char* name : {"b", "c", "d"}) b = m.matmul("bi,io->bo", b, m.parameter(name, {1, 1}));
    if (!early) sum = collective();
    m.output("y", m.binary(BALEEN_X_ADD, sum, b));
    return working_peak(*schedule_loops(m.graph, 1));
  };
  EXPECT_EQ(peak_with(true), peak_with(false)) << "its place in the graph says nothing of when it begins";
  EXPECT_EQ(peak_with(true), 4 * 1024u);
}

}  // namespace
}  // namespace baleen::test
