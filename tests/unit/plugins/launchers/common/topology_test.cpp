/// \file Ranks, host by host.
#include "common/topology.hpp"

#include <gtest/gtest.h>

namespace baleen::launchers {
namespace {

using Numbers = std::vector<int>;

const Topology kThree({{"a", 1}, {"b", 3}, {"c", 2}});

TEST(Topology, NumbersRanksHostByHost) {
  EXPECT_EQ(kThree.ranks(), 6);
  EXPECT_EQ(kThree.hosts(), 3);
  EXPECT_EQ(kThree.ranks_of(1), (Numbers{1, 2, 3}));
  EXPECT_EQ(kThree.host_of(4), 2);
  EXPECT_TRUE(kThree.has(2, 5));
  EXPECT_FALSE(kThree.has(2, 3));
  EXPECT_FALSE(kThree.has(2, 6));
  EXPECT_FALSE(kThree.has(0, -1));
}

TEST(Topology, PlacesEveryRank) {
  EXPECT_EQ(kThree.place(2, 5), (Place{2, 6, 1, 3, "b", 5, 1, {0, 1, 1, 1, 2, 2}}));
  EXPECT_EQ(Topology(2).place(1, 4), (Place{1, 2, 1, 2, "localhost", 4, 0, {0, 0}}));
}

TEST(Topology, NamesHostsWhereThatIsNews) {
  EXPECT_EQ(kThree.named(Numbers{2}), "rank 2 (host b)");
  EXPECT_EQ(kThree.named(Numbers{2, 3}), "ranks 2, 3 (host b)");
  EXPECT_EQ(kThree.named(Numbers{0, 5}), "ranks 0, 5 (hosts a, c)");
  EXPECT_EQ(Topology(4).named(Numbers{2, 3}), "ranks 2, 3");
  EXPECT_EQ(kThree.on_hosts(Numbers{2}), " on b");
  EXPECT_EQ(kThree.on_hosts(Numbers{0, 5}), " on hosts a, c");
  EXPECT_EQ(Topology(4).on_hosts(Numbers{2}), "");
  EXPECT_EQ(Topology({{"node7", 4}}).on_hosts(Numbers{2}), " on node7");
}

}  // namespace
}  // namespace baleen::launchers
