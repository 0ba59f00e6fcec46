/// \file Who has left, and who starts something else than the others.
#include "attendance.hpp"

#include <gtest/gtest.h>

namespace baleen::nccl {
namespace {

const std::string kSumText = "all_reduce of 4 fp32 at a.lua:1", kEndText = "barrier at the end";
const Entrant kSumStarts{&kSumText, false}, kEndStarts{&kEndText, true};

/// Two ranks of one group.
struct Two {
  Attendance zero{0}, one{1};
  Two() {
    for (Attendance* each : {&zero, &one}) each->open("g", {0, 1});
  }
};

TEST(NcclAttendance, LetsARankLeaveWhoseOperationsAllHaveBegun) {
  Two ranks;
  EXPECT_TRUE(ranks.zero.start("g", kSumStarts));
  EXPECT_TRUE(ranks.one.start("g", kSumStarts));
  EXPECT_TRUE(ranks.zero.heard_farewell(1, ranks.one.farewell(true, "")));
  EXPECT_TRUE(ranks.zero.has_left(1));
  const Status later = ranks.zero.start("g", kSumStarts);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().message, "rank 1 has left, and " + kSumText + " waits for it");
}

TEST(NcclAttendance, NamesARankThatLeavesAnOperationBehind) {
  Two ranks;
  EXPECT_TRUE(ranks.zero.start("g", kSumStarts));
  const Status vain = ranks.zero.heard_farewell(1, ranks.one.farewell(true, ""));
  ASSERT_FALSE(vain);
  EXPECT_EQ(vain.error().code, BALEEN_PEER_LOST);
}

TEST(NcclAttendance, PassesOnWhyARankLeft) {
  Two ranks;
  EXPECT_TRUE(ranks.zero.start("g", kSumStarts));
  EXPECT_TRUE(ranks.one.start("g", kSumStarts));
  const Status vain = ranks.zero.heard_farewell(1, ranks.one.farewell(false, "out of memory"));
  ASSERT_FALSE(vain);
  EXPECT_EQ(vain.error().message, "rank 1 has left (out of memory)");
}

/// Whichever of the two comes first.
TEST(NcclAttendance, ComparesABarrierWithWhatStartsInItsPlace) {
  const std::string text = "rank 1 starts " + kEndText + " where rank 0 starts " + kSumText;
  {
    Two ranks;
    EXPECT_TRUE(ranks.zero.start("g", kSumStarts));
    EXPECT_TRUE(ranks.one.start("g", kEndStarts));
    const Status other = ranks.zero.heard_barrier(1, ranks.one.announce("g"));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, text);
  }
  Two ranks;
  EXPECT_TRUE(ranks.one.start("g", kEndStarts));
  EXPECT_TRUE(ranks.zero.heard_barrier(1, ranks.one.announce("g"))) << "rank 0 may still come to it";
  const Status other = ranks.zero.start("g", kSumStarts);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message, text);
}

TEST(NcclAttendance, TakesNothingThatMakesNoSense) {
  Two ranks;
  EXPECT_TRUE(ranks.one.start("g", kEndStarts));
  const std::string barrier = ranks.one.announce("g"), farewell = ranks.one.farewell(true, "all is well");
  for (const std::string& bytes : {barrier.substr(1), barrier + "x", std::string()}) {
    const Status heard = ranks.zero.heard_barrier(1, bytes);
    ASSERT_FALSE(heard);
    EXPECT_EQ(heard.error().message, "nccl: a barrier of rank 1 makes no sense; do all ranks run the same version?");
  }
  for (const std::string& bytes : {farewell.substr(0, farewell.size() - 1), farewell + "x"})
    EXPECT_FALSE(ranks.zero.heard_farewell(1, bytes));
  EXPECT_FALSE(ranks.zero.has_left(1));
}

TEST(NcclAttendance, EndsABarrierWhenAllHaveAnnouncedIt) {
  Two ranks;
  // Rank 1 knows of the group before rank 0 does.
  Attendance late(0);
  EXPECT_TRUE(ranks.one.start("g", kEndStarts));
  EXPECT_TRUE(late.heard_barrier(1, ranks.one.announce("g")));
  late.open("g", {0, 1});
  EXPECT_TRUE(late.start("g", kEndStarts));
  EXPECT_TRUE(ranks.one.heard_barrier(0, late.announce("g")));
  EXPECT_TRUE(late.await("g", 1, 2));
  EXPECT_TRUE(ranks.one.await("g", 1, 2));
  late.end();
  EXPECT_FALSE(late.await("g", 2, 2)) << "no more announcements come";
  ranks.one.wake();
  EXPECT_FALSE(ranks.one.await("g", 2, 2)) << "nobody is waited for after a failure";
}

}  // namespace
}  // namespace baleen::nccl
