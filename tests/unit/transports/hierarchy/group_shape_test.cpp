/// \file Hosts of groups, and whether their sums make the promised tree: against the tree written out.
#include "group_shape.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace baleen::hierarchy {
namespace {

using Terms = std::vector<std::string>;

/// "((0+1)+2)" as the contract of transports puts it: the left half is the larger one.
std::string tree(const Terms& terms) {
  if (terms.size() == 1) return terms[0];
  const auto middle = terms.begin() + static_cast<std::ptrdiff_t>((terms.size() + 1) / 2);
  return "(" + tree({terms.begin(), middle}) + "+" + tree({middle, terms.end()}) + ")";
}

GroupShape shape_of(const std::string& hosts, std::size_t place = 0) {
  std::vector<std::int32_t> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) ranks.push_back(static_cast<std::int32_t>(rank));
  return GroupShape(ranks, {hosts.begin(), hosts.end()}, place);
}

/// First each host, then the hosts.
std::string tree_by_hosts(const GroupShape& shape) {
  Terms sums;
  for (const auto& places : shape.hosts) {
    Terms members;
    for (const std::size_t place : places) members.push_back(std::to_string(place));
    sums.push_back(tree(members));
  }
  return tree(sums);
}

TEST(GroupShape, KeepsTheTreeWhereSumsByHostsAreIt) {
  std::mt19937 random(7);
  int kept = 0, lost = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string hosts;
    const std::size_t members = 1 + random() % 16;
    char host = 'a';
    while (hosts.size() < members) {
      if (random() % 3 == 0) ++host;
      hosts += round % 5 == 0 ? static_cast<char>('a' + random() % 3) : host;
    }
    const GroupShape shape = shape_of(hosts);
    Terms all;
    for (std::size_t place = 0; place < members; ++place) all.push_back(std::to_string(place));
    const bool same = tree(all) == tree_by_hosts(shape);
    (same ? kept : lost)++;
    if (shape.contiguous)
      EXPECT_EQ(shape.keeps_tree, same) << hosts;
    else
      EXPECT_FALSE(shape.keeps_tree) << hosts;
  }
  EXPECT_GT(kept, 100);
  EXPECT_GT(lost, 100);
}

TEST(GroupShape, KeepsTheTreeWithEqualHostsOfAPowerOfTwo) {
  EXPECT_TRUE(shape_of("aabb").keeps_tree);
  EXPECT_TRUE(shape_of("aabbccdd").keeps_tree);
  EXPECT_TRUE(shape_of("aaabbb").keeps_tree);
  EXPECT_TRUE(shape_of("aab").keeps_tree);
  EXPECT_FALSE(shape_of("abb").keeps_tree);
  EXPECT_FALSE(shape_of("aabbcc").keeps_tree);
  EXPECT_FALSE(shape_of("abab").keeps_tree);
}

TEST(GroupShape, KnowsHostsRailsAndPlaces) {
  const GroupShape shape({2, 3, 5, 6, 7}, {0, 0, 4, 4, 4, 9, 9, 9}, 3);
  EXPECT_EQ(shape.hosts, (std::vector<std::vector<std::size_t>>{{0, 1}, {2, 3, 4}}));
  EXPECT_EQ(shape.host, 1u);
  EXPECT_EQ(shape.index, 1u);
  EXPECT_EQ(shape.rails, 2u);
  EXPECT_TRUE(shape.on_rail());
  EXPECT_TRUE(shape.contiguous);
  EXPECT_FALSE(shape.equal);
  EXPECT_FALSE(shape.on_one_host());
  EXPECT_FALSE(shape.one_per_host());
  EXPECT_EQ(shape.index_of(4), 2u);
  EXPECT_FALSE(shape_of("abbb", 2).on_rail());
  EXPECT_TRUE(shape_of("abc").one_per_host());
  EXPECT_TRUE(shape_of("aaa").on_one_host());
}

}  // namespace
}  // namespace baleen::hierarchy
