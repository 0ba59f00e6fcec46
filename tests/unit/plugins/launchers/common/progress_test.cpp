/// \file When ranks count as stalled, without processes and without waiting.
#include "common/progress.hpp"

#include <gtest/gtest.h>

namespace baleen::launchers {
namespace {

using std::chrono::seconds;

const Clock::time_point kStart{};

ProgressSnapshot at(std::int64_t collective, std::int64_t step = 5) { return {step, "training", collective}; }

TEST(Progress, IsNoStallWhereAllHaveBegunEquallyMany) {
  Progress progress(2, kStart);
  EXPECT_FALSE(progress.stalled_since());
  progress.see(0, at(7), kStart);
  progress.see(1, at(7), kStart);
  EXPECT_FALSE(progress.stalled_since());
}

TEST(Progress, StallsFromTheLastMoveOn) {
  Progress progress(3, kStart);
  for (int rank = 0; rank < 3; ++rank) progress.see(rank, at(7), kStart);
  progress.see(0, at(8), kStart + seconds(1));
  progress.see(2, at(8), kStart + seconds(2));
  for (int beat = 3; beat < 9; ++beat)
    for (int rank = 0; rank < 3; ++rank) progress.see(rank, at(rank == 1 ? 7 : 8), kStart + seconds(beat));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(2));
  EXPECT_EQ(progress.last(), 1);
  EXPECT_EQ(progress.text(),
            "waiting for rank 1 (step 5, training, collective 7 begun): others have begun collective 8");
}

TEST(Progress, BeginsAnewWithAnyMove) {
  Progress progress(2, kStart);
  progress.see(0, at(8), kStart);
  progress.see(1, at(7), kStart);
  progress.see(1, at(7, 6), kStart + seconds(9));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(9));
  progress.see(1, at(8, 6), kStart + seconds(10));
  EXPECT_FALSE(progress.stalled_since());
}

TEST(Progress, DoesNotCountAPauseOfTheLauncher) {
  Progress progress(2, kStart);
  progress.see(0, at(1), kStart);
  progress.forgive(seconds(100));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(100));
}

TEST(Progress, NamesAllWhoAreMissed) {
  Progress progress(3, kStart);
  progress.see(1, at(1), kStart);
  EXPECT_EQ(progress.text(), "waiting for ranks 0, 2: others have begun collective 1");
}

}  // namespace
}  // namespace baleen::launchers
