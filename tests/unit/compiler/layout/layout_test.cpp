/// \file Layouts: text and back, the order of splits, canonical form, what is refused.
#include <gtest/gtest.h>

#include "all_layouts.hpp"

namespace baleen {
namespace {

using test::all_layouts;
using test::mesh_of;

const Mesh kMesh = mesh_of({2, 4});

TEST(Layout, IsReadBackFromItsText) {
  for (const Layout& layout : all_layouts(mesh_of({2, 3, 2}), {4, 5})) {
    const auto read = parse_layout(to_string(layout));
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, layout) << to_string(layout);
  }
}

TEST(Layout, RefusesATextThatIsNone) {
  for (const char* text : {"Q", "S", "S-1", "S0.", "S0.x", "S0,", "@", "@1.2", "Pmin", "R R", "F1", "S99999999999999"})
    EXPECT_FALSE(parse_layout(text)) << text;
  EXPECT_NE(parse_placement("Q").error().message.find("`Q` is no placement"), std::string::npos);
}

TEST(Layout, NestsSplitsInMeshOrderByDefault) {
  EXPECT_EQ(split_order({Placement::shard(1), Placement::shard(1)}, 1), (std::vector{0, 1}));
  EXPECT_EQ(split_order({Placement::shard(1), Placement::shard(0)}, 1), (std::vector{0}));
  EXPECT_EQ(split_order({Placement::flat(), Placement::shard(0)}, kFlat), (std::vector{0}));
}

TEST(Layout, ANewSplitIsTheInnermost) {
  const Layout used{Placement::replicate(), Placement::shard(0)};
  const Layout stored = with_placement(used, 0, Placement::shard(0));
  EXPECT_EQ(to_string(stored), "S0.1,S0");
  EXPECT_EQ(split_order(stored, 0), (std::vector{1, 0}));
  EXPECT_EQ(with_placement(stored, 0, Placement::replicate()), used);
  EXPECT_EQ(to_string(with_placement(stored, 1, Placement::shard(1))), "S0,S1") << "one split alone has depth 0";
}

TEST(Layout, CanonicalFormForgetsHowTheOrderWasSaid) {
  const auto form = [](const char* text) { return to_string(canonical(*parse_layout(text))); };
  EXPECT_EQ(form("S0.3,S0.7"), "S0,S0");
  EXPECT_EQ(form("S0.7,S0.3"), "S0.1,S0");
  EXPECT_EQ(form("S0.7,S1.3"), "S0,S1");
  EXPECT_EQ(form("F.2,F.1"), "F.1,F");
  for (const Layout& layout : all_layouts(mesh_of({2, 2, 2}), {4}))
    EXPECT_EQ(canonical(layout), layout) << to_string(layout);
}

TEST(Layout, EveryOrderOfThreeSplitsIsALayout) {
  std::size_t found = 0;
  for (const Layout& layout : all_layouts(mesh_of({2, 2, 2}), {8}))
    found += std::all_of(layout.begin(), layout.end(), [](const Placement& p) { return p.is_shard(); });
  EXPECT_EQ(found, 6u);
}

TEST(Layout, SaysWhyAValueCannotLieSo) {
  const auto why = [](const char* text) {
    const Status status = check(*parse_layout(text), {4, 6}, kMesh);
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(why("S0,S1"), "");
  EXPECT_EQ(why("P,P"), "");
  EXPECT_NE(why("S0").find("1 placements for a mesh of 2 axes"), std::string::npos);
  EXPECT_NE(why("R,S2").find("axis `y`: S2 cuts dimension 2"), std::string::npos);
  EXPECT_NE(why("@2,R").find("axis `x`: @2 is at coordinate 2, and the axis has 2"), std::string::npos);
  EXPECT_NE(why("P,Pmax").find("mixes sums and maxima"), std::string::npos);
  EXPECT_NE(why("S0.1,S0.2").find("canonical form, S0,S0"), std::string::npos);
}

}  // namespace
}  // namespace baleen
