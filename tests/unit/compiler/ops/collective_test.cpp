/// \file Collectives and local regions as ops: what they infer and refuse, print, and which letters they leave to
/// others.
#include <gtest/gtest.h>

#include "support/op_cases.hpp"

namespace baleen {
namespace {

Attribute one(std::int64_t value) { return Attributes::ints({value}); }
Attribute text(const char* value) { return std::string(value); }

class CollectiveOps : public testing::Test {
 protected:
  ValueId input(const Shape& shape) { return *graph_.input("x" + std::to_string(count_++), {BALEEN_F32, shape, {}}); }
  std::string made(const std::string& kind, std::vector<ValueId> inputs, Attributes attributes) {
    const auto results = graph_.append(kind, std::move(inputs), std::move(attributes));
    return results ? to_string(graph_.value((*results)[0]).shape) : results.error().message;
  }
  const Op& op(const std::string& kind, ValueId x, Attributes attributes) {
    return *graph_.producer(*graph_.append1(kind, {x}, std::move(attributes)));
  }
  Iteration iteration(const Op& op) { return iteration_of(graph_, op); }

  Graph graph_{&test::builtin_ops()};
  int count_ = 0;
};

Attributes between(const char* from, const char* to) {
  return {{"axes", one(0)}, {"from", text(from)}, {"to", text(to)}};
}

TEST_F(CollectiveOps, AConversionKeepsTheGlobalShape) {
  const ValueId x = input({6, 4});
  EXPECT_EQ(made("all_reduce", {x}, between("P", "R")), "[6, 4]");
  EXPECT_EQ(made("reduce_scatter", {x}, between("P", "S1")), "[6, 4]");
  EXPECT_EQ(made("all_gather", {x}, between("F", "R")), "[6, 4]");
  EXPECT_EQ(made("all_to_all", {x}, between("S0", "B1")), "[6, 4]");
  EXPECT_EQ(made("broadcast", {x}, between("@1", "R")), "[6, 4]");
  EXPECT_EQ(made("reduce_to", {x}, between("P", "@0")), "[6, 4]");
  EXPECT_EQ(made("send", {x}, between("@0", "@1")), "[6, 4]");
  EXPECT_EQ(made("take_shard", {x}, between("R", "S0.1")), "[6, 4]");
  EXPECT_EQ(made("take_partial", {x}, between("S0", "P")), "[6, 4]");
  EXPECT_EQ(made("take_at", {x}, between("R", "@1")), "[6, 4]");
  EXPECT_EQ(
      made("all_to_all", {x}, {{"axes", Attributes::ints({0, 2})}, {"from", text("S0,S0")}, {"to", text("S0.1,S0")}}),
      "[6, 4]");
}

TEST_F(CollectiveOps, AConversionThatIsNoneIsRefused) {
  const ValueId x = input({6, 4});
  EXPECT_EQ(made("all_reduce", {x}, between("S0", "R")), "all_reduce does not turn S0 into R");
  EXPECT_EQ(made("all_gather", {x}, between("S0", "@1")), "all_gather does not turn S0 into @1");
  EXPECT_EQ(made("all_gather", {x}, between("S2", "R")), "all_gather: S2 cuts dimension 2 of fp32 [6, 4], which has 2");
  EXPECT_EQ(
      made("all_gather", {x}, between("S0,S0", "R")),
      "all_gather: `from` \"S0,S0\" and `to` \"R\" must have one placement for each of the 1 mesh axes in `axes`");
  EXPECT_EQ(made("all_reduce", {x}, {{"axes", Attributes::ints({1, 0})}, {"from", text("P,P")}, {"to", text("R,R")}}),
            "all_reduce: `axes` is [1, 0]; it lists numbers of mesh axes, ascending");
  EXPECT_EQ(
      made("all_to_all", {x}, {{"axes", Attributes::ints({0, 1})}, {"from", text("S0,S1")}, {"to", text("S1,S0")}}),
      "all_to_all does not turn S0,S1 into S1,S0");
  EXPECT_NE(made("all_reduce", {x}, between("Q", "R")).find("`Q` is no placement"), std::string::npos);
}

TEST_F(CollectiveOps, InALocalRegionPiecesAreJoinedAndCut) {
  const ValueId x = input({6, 4});
  EXPECT_EQ(made("all_gather", {x}, {{"axes", one(0)}, {"dim", one(1)}, {"size", one(3)}}), "[6, 12]");
  EXPECT_EQ(made("reduce_scatter", {x}, {{"axes", one(0)}, {"dim", one(0)}, {"size", one(3)}}), "[2, 4]");
  EXPECT_EQ(made("all_to_all", {x}, {{"axes", one(0)}, {"from_dim", one(1)}, {"to_dim", one(0)}, {"size", one(2)}}),
            "[3, 8]");
  EXPECT_EQ(made("all_reduce", {x}, {{"axes", one(0)}, {"reduction", text("max")}}), "[6, 4]");
  EXPECT_EQ(made("broadcast", {x}, {{"axes", one(0)}, {"root", one(2)}}), "[6, 4]");
  EXPECT_EQ(made("permute", {x}, {{"axes", one(0)}, {"shift", one(-1)}}), "[6, 4]");
  EXPECT_EQ(made("to_local", {x}, {{"shape", Attributes::ints({3, 4})}}), "[3, 4]");
  EXPECT_EQ(made("from_local", {x}, {{"shape", Attributes::ints({12, 4})}, {"layout", text("S0,R")}}), "[12, 4]");
  EXPECT_EQ(made("to_local", {x}, {{"shape", Attributes::ints({13})}}), "[13]") << "a flat piece";
  EXPECT_NE(made("to_local", {x}, {{"shape", Attributes::ints({25})}}).find("must have 2 dimensions"),
            std::string::npos)
      << "more than there is";
  EXPECT_NE(made("from_local", {x}, {{"shape", Attributes::ints({12, 4})}, {"layout", text("F,R")}})
                .find("the piece [6, 4] must have 1 dimensions"),
            std::string::npos);
  EXPECT_EQ(made("axis_index", {}, {{"axes", one(1)}}), "[]");
  EXPECT_EQ(made("pick", {x, x}, {{"axes", one(1)}}), "[6, 4]");
}

TEST_F(CollectiveOps, ALocalRegionHasEqualParts) {
  const ValueId x = input({6, 4});
  EXPECT_EQ(
      made("reduce_scatter", {x}, {{"axes", one(0)}, {"dim", one(1)}, {"size", one(3)}}),
      "reduce_scatter: dimension 1 of [6, 4] does not divide by 3, and a local region has equal parts; pad it first");
  EXPECT_EQ(made("to_local", {x}, {{"shape", Attributes::ints({7, 4})}}),
            "to_local: `shape` [7, 4] is no part of [6, 4]");
  EXPECT_EQ(made("all_to_all", {x}, {{"axes", one(0)}, {"from_dim", one(1)}, {"to_dim", one(1)}, {"size", one(2)}}),
            "all_to_all: `from_dim` and `to_dim` are both 1; it joins one and cuts the other");
  EXPECT_EQ(made("take_shard", {x}, {{"axes", one(0)}}),
            "take_shard stands between layouts alone: it needs the attributes `from` and `to`");
  EXPECT_EQ(made("all_reduce", {x}, {{"axes", one(0)}, {"reduction", text("mean")}}),
            "all_reduce: `reduction` is \"mean\"; it is \"sum\" or \"max\"");
  EXPECT_NE(
      made("from_local", {x}, {{"shape", Attributes::ints({12, 4})}, {"layout", text("T0")}}).find("no placement"),
      std::string::npos);
  EXPECT_EQ(made("axis_index", {}, {{"axes", Attributes::ints({0, 1})}}),
            "axis_index: `axes` is [0, 1]; it is one mesh axis");
}

TEST_F(CollectiveOps, MicroBatchesMayCutAllButFlatShards) {
  const ValueId x = input({6, 4});
  EXPECT_EQ(iteration(op("all_reduce", x, between("P", "R"))).inputs[0], "ab");
  EXPECT_EQ(iteration(op("all_gather", x, between("S0", "R"))).inputs[0], "ab");
  EXPECT_EQ(iteration(op("all_to_all", x, between("S0", "S1"))).inputs[0], "ab");
  EXPECT_EQ(iteration(op("take_shard", x, between("R", "F"))).inputs[0], "..");
  EXPECT_EQ(iteration(op("all_gather", x, {{"axes", one(0)}, {"dim", one(1)}, {"size", one(2)}})).inputs[0], "a.");
}

TEST_F(CollectiveOps, APartialAccumulatesBeforeItIsReducedUnlessEachMicroBatchIs) {
  const ValueId x = input({6, 4});
  EXPECT_TRUE(iteration(op("all_reduce", x, between("P", "R"))).linear.empty());
  Attributes each = between("P", "S0");
  each.set("every_micro_batch", one(1));
  EXPECT_EQ(iteration(op("reduce_scatter", x, each)).linear, (std::vector<std::vector<std::uint32_t>>{{0}}));
}

TEST_F(CollectiveOps, PrintWithLayouts) {
  graph_.set_mesh({{{"data", 2}, {"tensor", 2}}});
  const ValueId x = input({6, 4});
  graph_.value(x).layout = *parse_layout("P,S0");
  const ValueId y = *graph_.append1("reduce_scatter", {x}, between("P", "S0.1"), "grad");
  graph_.value(y).layout = *parse_layout("S0.1,S0");
  EXPECT_EQ(print(graph_),
            "%0 = input() name=\"x0\" : fp32 [6, 4] {P,S0}  # x0\n"
            "%1 = reduce_scatter(%0) axes=0 from=\"P\" to=\"S0.1\" : fp32 [6, 4] {S0.1,S0}  # grad\n");
  EXPECT_TRUE(verify(graph_));
}

TEST_F(CollectiveOps, HashKnowsHowSplitsNest) {
  const auto hash_of = [](const char* layout) {
    Graph graph(&test::builtin_ops());
    graph.set_mesh({{{"data", 2}, {"tensor", 2}}});
    graph.value(*graph.input("x", {BALEEN_F32, {8}, {}})).layout = *parse_layout(layout);
    return hash(graph);
  };
  EXPECT_EQ(hash_of("S0,S0"), hash_of("S0,S0"));
  EXPECT_NE(hash_of("S0,S0"), hash_of("S0.1,S0"));
}

TEST_F(CollectiveOps, EqualCollectivesAreOne) {
  const ValueId x = input({6, 4});
  const auto first = graph_.append1("all_gather", {x}, between("S0", "R"));
  EXPECT_EQ(*graph_.append1("all_gather", {x}, between("S0", "R")), *first);
  EXPECT_NE(*graph_.append1("all_gather", {x}, between("S1", "R")), *first);
}

TEST(GraphOrder, CanBeGivenAnew) {
  Graph graph(&test::builtin_ops());
  const ValueId x = *graph.input("x", {BALEEN_F32, {2}, {}});
  const ValueId a = *graph.unary(BALEEN_X_EXP, x), b = *graph.unary(BALEEN_X_NEG, x), c = *graph.unary(BALEEN_X_NEG, a);
  const auto ids = [&](const std::vector<ValueId>& values) {
    std::vector<OpId> ops;
    for (ValueId v : values) ops.push_back(graph.value(v).producer);
    return ops;
  };
  ASSERT_TRUE(graph.reorder(ids({x, b, a, c})));
  EXPECT_EQ(graph.ops(), ids({x, b, a, c}));
  EXPECT_TRUE(verify(graph));
  EXPECT_FALSE(graph.reorder(ids({x, b, c, a}))) << "c reads a";
  EXPECT_FALSE(graph.reorder(ids({x, a, c}))) << "b is missing";
  EXPECT_FALSE(graph.reorder(ids({x, a, a, b, c})));
  EXPECT_EQ(graph.ops(), ids({x, b, a, c})) << "a refused order changes nothing";
}

}  // namespace
}  // namespace baleen
