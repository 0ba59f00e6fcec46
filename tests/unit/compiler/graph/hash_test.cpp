/// \file The graph's hash: what changes it and what does not.
#include <gtest/gtest.h>

#include <functional>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

/// gelu(x w), with things done to the graph on the way.
struct Recipe {
  bool dead_first = false, dead_between = false;
  std::string layer = "up", parameter = "w", output = "y";
  double scale = 0.5;
  std::int64_t width = 4;
  baleen_dtype_t dtype = BALEEN_F32;
};

void add_dead(Graph& graph, ValueId x) {
  ASSERT_TRUE(graph.unary(BALEEN_X_SIN, x));
  ASSERT_TRUE(graph.append("softmax", {x}));
}

Graph make(const Recipe& r) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {r.dtype, {2, 3}, {}});
  const ValueId w = *graph.parameter(r.parameter, {r.dtype, {3, r.width}, {}});
  if (r.dead_first) add_dead(graph, x);
  graph.context().name = r.layer;
  const ValueId y = *graph.append1("matmul", {x, w}, {{"spec", "mk,kn->mn"}});
  if (r.dead_between) add_dead(graph, w);
  Expression e;
  const auto scale = e.constant(r.scale), gelu = e.unary(BALEEN_X_GELU, e.input(0));  // numbered in this order
  const auto result = e.binary(BALEEN_X_MUL, gelu, scale);
  graph.set_output(r.output, *graph.pointwise({y}, e, result));
  graph.remove_dead();
  return graph;
}

TEST(GraphHash, IsTheSameForTheSameGraph) { EXPECT_EQ(hash(make({})), hash(make({}))); }

TEST(GraphHash, IsIndependentOfDeadOpsAndOfTheNumbersTheyTook) {
  const std::uint64_t plain = hash(make({}));
  EXPECT_EQ(hash(make({.dead_first = true})), plain);
  EXPECT_EQ(hash(make({.dead_between = true})), plain);
  EXPECT_EQ(hash(make({.dead_first = true, .dead_between = true})), plain);
}

TEST(GraphHash, ChangesWithEveryThingThatMatters) {
  const std::uint64_t plain = hash(make({}));
  EXPECT_NE(hash(make({.layer = "down"})), plain);
  EXPECT_NE(hash(make({.parameter = "v"})), plain);
  EXPECT_NE(hash(make({.output = "z"})), plain);
  EXPECT_NE(hash(make({.scale = 0.25})), plain);
  EXPECT_NE(hash(make({.width = 5})), plain);
  EXPECT_NE(hash(make({.dtype = BALEEN_F64})), plain);
}

TEST(GraphHash, ChangesWithLayoutPlaceRoleTagsPhaseTwinAndMesh) {
  const Graph graph = make({});
  const ValueId y = graph.output("y");
  const OpId op = graph.producer(y)->id;
  auto changed = [&](const std::function<void(Graph&)>& change) {
    Graph copy = graph;
    change(copy);
    return hash(copy) != hash(graph);
  };
  EXPECT_TRUE(changed([&](Graph& g) { g.value(y).layout = {Placement::shard(0)}; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.value(y).role = Role::gradient; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.value(y).offloaded_ahead = 2; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.value(y).updated_on_host = true; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.value(y).axes.edit()[0] = "batch"; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.op(op).tags.edit()["stage"] = "1"; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.op(op).schedule.edit().bucket = OpSchedule::Bucket{1}; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.op(op).phase = Phase::update; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.op(op).forward_op = g.ops()[0]; }));
  EXPECT_TRUE(changed([&](Graph& g) { g.set_mesh({{{"data", 2}}}); }));
  EXPECT_FALSE(changed([&](Graph& g) { g.op(op).where = "elsewhere.lua:1"; })) << "paths may differ between hosts";
}

TEST(GraphHash, IsTheSameInEveryBuild) {
  // Ranks compare it: a change of this number is a change of the format, and ranks of two versions do not mix.
  EXPECT_EQ(hash(make({})), 2112710126816593068u);
}

}  // namespace
}  // namespace baleen
