/// \file Cores before siblings, on machines that hwloc describes.
#include "core_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace baleen::cpu {
namespace {

using Numbers = std::vector<int>;

Numbers up_to(int count) {
  Numbers numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(CoreOrder, TakesCoresBeforeTheirSiblings) {
  EXPECT_EQ(cores_first(up_to(8), "core:4 pu:2"), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  // As many systems number them: all cores, then all their siblings.
  EXPECT_EQ(cores_first(up_to(8), "core:4 pu:2(indexes=0,4,1,5,2,6,3,7)"), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  // Even ones in one package, odd ones in the other: neighbours first.
  EXPECT_EQ(cores_first(up_to(4), "pack:2 core:2 pu:1(indexes=0,2,1,3)"), (Numbers{0, 2, 1, 3}));
}

TEST(CoreOrder, KeepsToWhatIsAllowed) {
  EXPECT_EQ(cores_first({1, 2, 3, 6, 7}, "core:4 pu:2"), (Numbers{1, 2, 6, 3, 7}));
}

TEST(CoreOrder, LeavesAllAsItIsWhereItKnowsNothing) {
  EXPECT_EQ(cores_first({0, 9}, "core:4 pu:2"), (Numbers{0, 9}));
  EXPECT_EQ(cores_first({1, 0}, "no machine"), (Numbers{1, 0}));
}

TEST(CoreOrder, KnowsThisMachine) {
  Numbers all = cores_first({0});
  EXPECT_EQ(all, Numbers{0});
}

}  // namespace
}  // namespace baleen::cpu
