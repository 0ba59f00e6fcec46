/// \file Which pieces several ranks hold, and who of them is alone.
#include "frontend/engine/copy_check.hpp"

#include <gtest/gtest.h>

namespace baleen::app {
namespace {

using Kind = Placement::Kind;
const Mesh kMesh{{{"data", 2}, {"tensor", 3}}};

Placement shard(int dim) { return {Kind::shard, dim}; }

PersistentLayout layout_of(const std::vector<Layout>& layouts) {
  PersistentLayout persistent;
  for (const Layout& layout : layouts) {
    PersistentBuffer& buffer = persistent.buffers.emplace_back();
    buffer.spec.layout = layout;
    buffer.bytes = 24;
  }
  return persistent;
}

TEST(CopiedPieces, AreThoseThatAnAxisRepeats) {
  const PersistentLayout all = layout_of({{}, {Placement(), shard(0)}, {shard(0), shard(0)}, {shard(0), Placement()}});
  const auto pieces = copied_pieces(all, kMesh, {1, 2});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[0].buffer, &all.buffers[0]);
  EXPECT_EQ(pieces[0].group, "-,-,");
  EXPECT_EQ(pieces[1].buffer, &all.buffers[1]);
  EXPECT_EQ(pieces[1].group, "-,2,");
  EXPECT_EQ(pieces[2].buffer, &all.buffers[3]);
  EXPECT_EQ(pieces[2].group, "1,-,");
}

TEST(CopiedPieces, AreNoneOnOneRank) { EXPECT_TRUE(copied_pieces(layout_of({{}}), Mesh(), {}).empty()); }

TEST(OddCopy, IsNoneWhereAllAgree) {
  EXPECT_FALSE(find_odd_copy({"0:-,0, a\n1:-,- c\n", "0:-,1, b\n1:-,- c\n", "0:-,0, a\n1:-,- c\n"}));
  EXPECT_FALSE(find_odd_copy({"", ""}));
}

TEST(OddCopy, IsTheOneThatTheMostDoNotHave) {
  const auto odd = find_odd_copy({"3:- x\n", "3:- y\n", "3:- y\n", "3:- y\n"});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->reference, 1);
  EXPECT_EQ(odd->odd, 0);
  EXPECT_EQ(odd->agreeing, 3);
  EXPECT_EQ(odd->copies, 4);
  EXPECT_EQ(odd->piece, "3:-");
}

TEST(OddCopy, CannotBeToldOfTwo) {
  const auto odd = find_odd_copy({"10:- x\n2:- a\n", "10:- y\n2:- b\n"});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->agreeing, 1);
  EXPECT_EQ(odd->copies, 2);
  EXPECT_EQ(odd->piece, "2:-") << "the first by number";
}

/// Ranks 0 and 2 hold one piece, 1 and 3 another.
TEST(OddCopy, IsLookedForAmongThoseThatHoldThePiece) {
  const auto odd = find_odd_copy({"0:-,0, a\n", "0:-,1, b\n", "0:-,0, a\n", "0:-,1, c\n"});
  ASSERT_TRUE(odd);
  EXPECT_EQ(odd->reference, 1);
  EXPECT_EQ(odd->odd, 3);
}

}  // namespace
}  // namespace baleen::app
