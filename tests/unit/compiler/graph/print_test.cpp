/// \file Graphs as text.
#include <gtest/gtest.h>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

Graph example() {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F32, {16, 128, 128}, {}});
  const ValueId w = *graph.parameter("w", {BALEEN_F32, {128, 4, 32}, {}});
  graph.context().name = "blocks.0.attention.q";
  graph.context().where = "train.lua:12";
  const ValueId q = *graph.append1("matmul", {x, w}, {{"spec", "bsd,dhe->bshe"}});
  graph.context() = {Phase::backward, kNone, "", ""};
  Expression e;
  const auto y = e.binary(BALEEN_X_MUL, e.unary(BALEEN_X_GELU, e.input(0)), e.constant(0.5));
  const ValueId z = *graph.pointwise({q}, e, y);
  graph.set_output("z", z);
  return graph;
}

TEST(GraphPrint, WritesOneLinePerOp) {
  EXPECT_EQ(print(example()),
            "%0 = input() name=\"x\" : fp32 [16, 128, 128]  # x\n"
            "%1 = parameter() name=\"w\" : fp32 [128, 4, 32]  # w\n"
            "%2 = matmul(%0, %1) spec=\"bsd,dhe->bshe\" : fp32 [16, 128, 4, 32]  # blocks.0.attention.q  train.lua:12\n"
            "# backward\n"
            "%3 = pointwise(%2) \"gelu(x0) * 0.5\" : fp32 [16, 128, 4, 32]\n"
            "return z = %3\n");
}

TEST(GraphPrint, ShowsSeveralResultsAttributesLayoutsAndTags) {
  Graph graph(&test::builtin_ops());
  graph.set_mesh({{{"data", 2}, {"tensor", 2}}});
  const ValueId x = *graph.input("x", {BALEEN_F64, {4, 8}, {}});
  const auto made = *graph.append("top_k", {x}, {{"k", Attributes::ints({2})}});
  graph.value(made[0]).layout = {Placement::shard(0), Placement::replicate()};
  graph.op(graph.value(made[0]).producer).tags.edit()["stage"] = "1";
  ASSERT_TRUE(graph.append1("reshape", {x}, {{"shape", Attributes::ints({2, 16})}}));
  const std::string text = print(graph);
  EXPECT_NE(text.find("%1, %2 = top_k(%0) k=2 : fp64 [4, 2] {S0,R}, int32 [4, 2] [stage=1]\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("%3 = reshape(%0) shape=[2, 16] : fp64 [2, 16]\n"), std::string::npos) << text;
}

TEST(GraphPrint, ShowsTheScheduleAmongTheTagsByName) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F32, {4}, {}});
  Op& op = graph.op(graph.value(*graph.unary(BALEEN_X_EXP, x)).producer);
  op.tags.edit()["block"] = "0";
  op.schedule = OpSchedule{.bucket = OpSchedule::Bucket{3, {1, 0}},
                           .begins_here = true,
                           .must_complete_before = {7, 12},
                           .every_micro_batch = true,
                           .no_fuse = true,
                           .whole = true,
                           .compute_copy = "cast",
                           .offer = "ring",
                           .owner = "sequence",
                           .annotations = {{0, 2}, {3}},
                           .names = {{0, {"mlp", "blocks.0"}}}};
  const std::string text = print(graph);
  EXPECT_NE(text.find(" [begin_here=] [block=0] [bucket=3/1/0] [compute_copy=cast] [every_micro_batch=]"
                      " [must_complete_before=7,12,] [no_fuse=] [offer=ring] [owner=sequence] [parallel=0,2;3]"
                      " [result.0=mlp,blocks.0] [whole=]\n"),
            std::string::npos)
      << text;
}

TEST(GraphPrint, NamesTheDtypeOfAConstant) {
  Graph graph(&test::builtin_ops());
  ASSERT_TRUE(graph.constant(0.25, BALEEN_F64));
  EXPECT_EQ(print(graph), "%0 = pointwise() \"0.25\" shape=[] dtype=fp64 : fp64 []\n");
}

}  // namespace
}  // namespace baleen
