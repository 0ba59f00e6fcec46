/// \file Ranks, coordinates, groups.
#include "compiler/layout/mesh.hpp"

#include <gtest/gtest.h>

#include <set>

#include "all_layouts.hpp"

namespace baleen {
namespace {

using test::mesh_of;
using Ranks = std::vector<std::int64_t>;

TEST(Mesh, TheLastAxisCountsFastest) {
  const Mesh mesh = mesh_of({2, 3, 4});
  EXPECT_EQ(rank_count(mesh), 24);
  EXPECT_EQ(coordinates(mesh, 1), (Coordinates{0, 0, 1}));
  EXPECT_EQ(coordinates(mesh, 23), (Coordinates{1, 2, 3}));
  for (std::int64_t rank = 0; rank < 24; ++rank) EXPECT_EQ(rank_of(mesh, coordinates(mesh, rank)), rank);
}

TEST(Mesh, AGroupDiffersInItsAxesAlone) {
  const Mesh mesh = mesh_of({2, 3, 2});
  EXPECT_EQ(group(mesh, 5, {2}), (Ranks{4, 5}));
  EXPECT_EQ(group(mesh, 5, {1}), (Ranks{1, 3, 5}));
  EXPECT_EQ(group(mesh, 5, {0}), (Ranks{5, 11}));
  EXPECT_EQ(group(mesh, 5, {0, 2}), (Ranks{4, 5, 10, 11}));
  EXPECT_EQ(group(mesh, 5, {2, 0}), (Ranks{4, 5, 10, 11})) << "ascending, however the axes are listed";
  EXPECT_EQ(group(mesh, 5, {}), (Ranks{5}));
}

TEST(Mesh, GroupsPartTheRanks) {
  const Mesh mesh = mesh_of({2, 3, 2});
  for (const std::vector<int>& axes : {std::vector<int>{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
    std::set<std::int64_t> seen;
    std::int64_t last = -1;
    for (const Ranks& members : groups(mesh, axes)) {
      EXPECT_GT(members.front(), last);
      last = members.front();
      for (std::int64_t rank : members) {
        EXPECT_TRUE(seen.insert(rank).second);
        EXPECT_EQ(group(mesh, rank, axes), members);
      }
    }
    EXPECT_EQ(seen.size(), 12u);
  }
}

TEST(Mesh, MicroBatchesAreNoRanks) {
  Mesh mesh = mesh_of({2, 3});
  mesh.axes.push_back({kMicroAxis, 8});
  EXPECT_EQ(rank_count(mesh), 6);
  EXPECT_EQ(coordinates(mesh, 5), (Coordinates{1, 2, 0}));
  EXPECT_EQ(rank_of(mesh, {1, 2, 7}), 5);
  EXPECT_EQ(group(mesh, 5, {1, 2}), (Ranks{3, 4, 5}));
}

}  // namespace
}  // namespace baleen
