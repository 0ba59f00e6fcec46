/// \file What `verify_layouts` refuses: layouts that regions, conversions and outputs state and that are not so.
#include <gtest/gtest.h>

#include <array>

#include "compiler/placement/passes.hpp"
#include "support/op_cases.hpp"

namespace baleen {
namespace {

/// A layout that a region states is no assertion alone: the region is followed from `to_local` on.
class StatedLayout : public testing::Test {
 protected:
  void SetUp() override { graph_.set_mesh({{{"data", 2}, {"ring", 3}}}); }

  ValueId lying(ValueId v, const std::string& layout) {
    graph_.value(v).layout = *parse_layout(layout);
    return v;
  }
  ValueId input(const char* layout) {
    const std::string name = "x" + std::to_string(inputs_++);
    return lying(*graph_.input(name, {BALEEN_F64, {6, 3}, {}}), layout);
  }
  ValueId op(const std::string& kind, ValueId v, Attributes attributes) {
    return *graph_.append1(kind, {v}, std::move(attributes), "layer");
  }
  ValueId open(const char* layout, const Shape& piece) {
    return op("to_local", input(layout), {{"shape", Attributes::ints(piece)}});
  }
  ValueId over_ring(const std::string& kind, ValueId v, Attributes attributes = {}) {
    attributes.set("axes", Attributes::ints({1}));
    return op(kind, v, std::move(attributes));
  }
  ValueId scaled(ValueId v) {
    Expression twice;
    return *graph_.pointwise({v}, twice, twice.binary(BALEEN_X_MUL, twice.input(0), twice.constant(2)));
  }
  /// What is wrong; empty: nothing.
  std::string refusal() const {
    const Status checked = verify_layouts(graph_);
    return checked ? "" : checked.error().message;
  }
  std::string closed(ValueId v, const char* layout) {
    lying(op("from_local", v, {{"shape", Shape{6, 3}}, {"layout", std::string(layout)}}), layout);
    return refusal();
  }

  Graph graph_{&test::builtin_ops()};
  int inputs_ = 0;
};

TEST_F(StatedLayout, IsNotWholeOfTermsThatNothingAddedUp) {
  const ValueId terms = open("R,P", {6, 3});
  EXPECT_NE(closed(terms, "R,R").find("along `ring` it cannot state R: its value is a term of a sum"),
            std::string::npos);
}

TEST_F(StatedLayout, IsNotWholeOfTheLargestTermOfASum) {
  const ValueId largest = over_ring("all_reduce", open("R,P", {6, 3}), {{"reduction", std::string("max")}});
  EXPECT_NE(closed(largest, "R,R").find("a term of a sum"), std::string::npos);
}

TEST_F(StatedLayout, IsNotWholeOfTheFirstTermOfASum) {
  const ValueId first = over_ring("broadcast", open("R,P", {6, 3}), {{"root", Attributes::ints({0})}});
  EXPECT_NE(closed(first, "R,R").find("a term of a sum"), std::string::npos);
}

TEST_F(StatedLayout, IsNotWholeOfMaximaThatWereAddedUp) {
  const ValueId sum = over_ring("all_reduce", open("R,Pmax", {6, 3}));
  EXPECT_NE(closed(sum, "R,R").find("nothing has taken the maximum"), std::string::npos);
}

TEST_F(StatedLayout, IsNotWholeOfWhatDiffers) {
  EXPECT_NE(closed(scaled(open("R,P", {6, 3})), "R,R").find("its value differs from rank to rank"), std::string::npos);
}

TEST_F(StatedLayout, IsNoSumOfWhatEachRankHasWhole) {
  const ValueId whole = open("P,R", {6, 3});
  EXPECT_NE(closed(whole, "P,P")
                .find("along `ring` it cannot state P: each rank has the whole there, and the sum would "
                      "be 3 times it"),
            std::string::npos);
}

TEST_F(StatedLayout, IsWholeBehindTheSum) {
  EXPECT_EQ(closed(over_ring("all_reduce", open("S0,P", {3, 3})), "S0,R"), "");
}

TEST_F(StatedLayout, IsAMaximumOfWhatWasMadeOfTerms) {
  const ValueId largest = over_ring("all_reduce", scaled(open("R,P", {6, 3})), {{"reduction", std::string("max")}});
  EXPECT_EQ(closed(largest, "R,R"), "");
}

TEST_F(StatedLayout, IsBelievedWhereTermsWentRound) {
  const ValueId terms = open("R,P", {6, 3});
  ValueId sum = terms, moved = terms;
  for (int hop = 0; hop < 2; ++hop) {
    moved = over_ring("permute", moved, {{"shift", Attributes::ints({1})}});
    sum = *graph_.binary(BALEEN_X_ADD, sum, moved);
  }
  EXPECT_EQ(closed(sum, "R,R"), "");
}

/// A rank at another coordinate leaves the region out and has zeros, which are terms of a sum and nothing else.
TEST_F(StatedLayout, IsAtTheCoordinateOfWhatTheRegionOpens) {
  const std::string unsent = "its value is at coordinate 1 there, and nothing has sent it";
  const Graph empty = graph_;
  for (const auto& [layout, is_so] :
       {std::pair{"R,@1", true}, {"R,P", true}, {"R,@2", false}, {"R,R", false}, {"R,S0", false}, {"R,Pmax", false}}) {
    graph_ = empty;
    EXPECT_EQ(closed(scaled(open("R,@1", {6, 3})), layout).find(unsent) == std::string::npos, is_so) << layout;
  }
}

TEST_F(StatedLayout, IsNowhereOfWhatLiesAtTwoCoordinates) {
  const ValueId sum = *graph_.binary(BALEEN_X_ADD, open("R,@1", {6, 3}), open("R,@2", {6, 3}));
  EXPECT_NE(closed(sum, "R,@1").find("no rank has them all"), std::string::npos);
}

TEST_F(StatedLayout, IsOfNoCollectiveThatOneCoordinateAloneCalls) {
  const ValueId sum = over_ring("all_reduce", open("R,@1", {6, 3}));
  EXPECT_NE(closed(sum, "R,@1").find("along `ring` it is to be called by all ranks"), std::string::npos);
}

TEST_F(StatedLayout, IsNoPartOfWhatEachRankHasWhole) {
  EXPECT_NE(closed(open("S1,R", {6, 2}), "S1,S0").find("along `ring` it cannot state S0: each rank has the whole"),
            std::string::npos);
}

TEST_F(StatedLayout, IsAPartOfWhatEachRankMade) { EXPECT_EQ(closed(scaled(open("S1,R", {6, 2})), "S1,P"), ""); }

class StatedConversion : public StatedLayout {
 protected:
  /// Between layouts other than it says.
  std::string refused(const std::string& kind, std::vector<std::int64_t> axes, const std::array<const char*, 2>& says,
                      const std::array<const char*, 2>& is) {
    const Attributes attributes{
        {"axes", std::move(axes)}, {"from", std::string(says[0])}, {"to", std::string(says[1])}};
    lying(op(kind, input(is[0]), attributes), is[1]);
    return refusal();
  }
};

TEST_F(StatedConversion, IsNamedWithTheAxisOfWhichItSaysOtherwise) {
  EXPECT_NE(refused("all_reduce", {1}, {"P", "R"}, {"R,R", "R,R"})
                .find("along `ring` it turns R,R into R,R and says from P to R"),
            std::string::npos);
}

TEST_F(StatedConversion, OfSeveralAxesIsNamedWithTheOneOfWhichItSaysOtherwise) {
  EXPECT_EQ(refused("all_to_all", {0, 1}, {"S0,S0", "S0.1,S0"}, {"S0,S0", "S0.1,S0"}), "");
  EXPECT_NE(refused("all_to_all", {0, 1}, {"S0,S0", "S0.1,S0"}, {"S0,R", "S0.1,S0"}).find("along `ring` it turns"),
            std::string::npos);
}

TEST_F(StatedLayout, OfAnOutputIsWhole) {
  graph_.set_output("y", input("R,R"));
  EXPECT_EQ(refusal(), "");
  graph_.set_output("z", input("R,P"));
  EXPECT_NE(refusal().find("output `z`: along `ring` it lies as P, and what a graph gives is whole"),
            std::string::npos);
}

}  // namespace
}  // namespace baleen
