/// \file Which ranks count as one host.
#include "open.hpp"

#include <gtest/gtest.h>

namespace baleen::hierarchy {
namespace {

using Numbers = std::vector<std::int32_t>;

TEST(NumberedHosts, CountUpWhateverTheyWereNamed) {
  EXPECT_EQ(numbered_hosts({7, 7, 3, 3, 3, 9}, 0), (Numbers{0, 0, 1, 1, 1, 2}));
  EXPECT_EQ(numbered_hosts({0, 0, 0}, 0), (Numbers{0, 0, 0}));
}

TEST(NumberedHosts, AreCutIntoPartsAndNeverJoined) {
  EXPECT_EQ(numbered_hosts({0, 0, 0, 0, 1, 1, 1}, 2), (Numbers{0, 0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(numbered_hosts({0, 0, 0, 0}, 1), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(numbered_hosts({0, 0, 1, 1}, 4), (Numbers{0, 0, 1, 1}));
}

TEST(NumberedHosts, AreTheSameWhereTheirRanksStandApart) {
  EXPECT_EQ(numbered_hosts({5, 6, 5, 6}, 0), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(numbered_hosts({5, 6, 5, 6, 5}, 2), (Numbers{0, 1, 0, 1, 2}));
}

}  // namespace
}  // namespace baleen::hierarchy
