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

ProgressSnapshot standing(std::string in, std::int64_t collective = 7) {
  ProgressSnapshot moment = at(collective);
  moment.stands_in = std::move(in);
  return moment;
}

TEST(Progress, StallsWhereAllStandInCollectives) {
  Progress progress(2, kStart);
  progress.see(0, standing("all_reduce of `w`"), kStart + seconds(1));
  progress.see(1, at(7), kStart + seconds(2));
  EXPECT_FALSE(progress.stalled_since()) << "rank 1 computes";
  progress.see(1, standing("all_reduce of `w`"), kStart + seconds(3));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(3));
  EXPECT_TRUE(progress.all_stand());
  EXPECT_EQ(progress.text(),
            "every rank stands in a collective that does not end: in all_reduce of `w` (step 5, training, collective 7 "
            "begun); the transport is slow, or has lost one");
  progress.see(1, standing("send of `x`"), kStart + seconds(4));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(4));
  EXPECT_EQ(progress.text(),
            "every rank stands in a collective that does not end: rank 0 in all_reduce of `w` (step 5, training, "
            "collective 7 begun), rank 1 in send of `x` (step 5, training, collective 7 begun); the transport is slow, "
            "or has lost one");
  progress.forgive(seconds(100));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(104));
  progress.see(0, at(7), kStart + seconds(105));
  EXPECT_FALSE(progress.stalled_since());
}

/// It is named all the same, as early as any, and is given up later.
TEST(Progress, WorksWhereAnyReadsOrWritesMuch) {
  Progress progress(2, kStart);
  progress.see(0, at(8), kStart);
  progress.see(1, at(7), kStart + seconds(1));
  ProgressSnapshot reading = at(7);
  reading.passed = 3;
  progress.see(1, reading, kStart + seconds(9));
  EXPECT_EQ(progress.worked(), kStart + seconds(9));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(1));
  progress.see(1, reading, kStart + seconds(10));
  EXPECT_EQ(progress.worked(), kStart + seconds(9)) << "as much as before";
  progress.forgive(seconds(5));
  EXPECT_EQ(progress.worked(), kStart + seconds(14));
  progress.see(1, at(8), kStart + seconds(20));
  EXPECT_EQ(progress.worked(), kStart + seconds(20));
}

/// A rank that waits for another tells so a little later than that it has begun: the wait is as old as before.
TEST(Progress, StandingIsNoMove) {
  Progress progress(2, kStart);
  progress.see(1, at(7), kStart);
  progress.see(0, at(8), kStart + seconds(1));
  progress.see(0, standing("all_reduce of `w`", 8), kStart + seconds(2));
  EXPECT_EQ(progress.stalled_since(), kStart + seconds(1));
  EXPECT_FALSE(progress.all_stand());
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

TEST(Progress, WaitsLongerWhereLongWaitsAreUsual) {
  constexpr Clock::duration kLeast = seconds(2), kMost = seconds(30);
  Progress progress(2, kStart);
  Clock::time_point now = kStart;
  std::int64_t collective = 0;
  const auto wait = [&](Clock::duration time) {
    progress.see(0, at(++collective), now);
    for (const Clock::time_point end = now + time; now < end; now += Timeouts::kBeat)
      for (const int rank : {0, 1}) progress.see(rank, at(collective - rank), now);
    progress.see(1, at(collective), now);
    return progress.patience(kLeast, kMost);
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(wait(std::chrono::milliseconds(100)), kLeast);
  EXPECT_EQ(wait(seconds(10)), kLeast) << "once is not usual";
  Clock::duration patience{};
  for (int i = 0; i < 9; ++i) patience = wait(seconds(10));
  EXPECT_GE(patience, seconds(20));
  EXPECT_LE(patience, seconds(21));
  for (int i = 0; i < 9; ++i) patience = wait(seconds(100));
  EXPECT_EQ(patience, kMost);
}

TEST(Progress, WaitsLongerWhereBeatsComeLate) {
  constexpr Clock::duration kLeast = seconds(2), kMost = seconds(30);
  Progress progress(1, kStart);
  Clock::time_point now = kStart + seconds(50);  // nothing is late before it has begun
  const auto beat = [&](Clock::duration after) {
    now += after;
    progress.see(0, at(1), now);
    return progress.patience(kLeast, kMost);
  };
  EXPECT_EQ(beat(seconds(0)), kLeast);
  EXPECT_EQ(beat(Timeouts::kBeat), kLeast);
  EXPECT_EQ(beat(Timeouts::kBeat + std::chrono::milliseconds(150)), seconds(3));
  EXPECT_EQ(beat(Timeouts::kBeat), seconds(3)) << "it is remembered";
  for (int i = 0; i < 200; ++i) beat(Timeouts::kBeat);
  EXPECT_EQ(beat(Timeouts::kBeat), kLeast) << "for half a minute";
  now += seconds(9);
  progress.forgive(seconds(9));
  EXPECT_EQ(beat(Timeouts::kBeat), kLeast);
  EXPECT_EQ(beat(seconds(9)), kMost);
}

TEST(Progress, KnowsWhoSpeaks) {
  Progress progress(1, kStart);
  EXPECT_FALSE(progress.speaks(0, kStart));
  progress.see(0, at(1), kStart);
  EXPECT_TRUE(progress.speaks(0, kStart + Timeouts::kBeat));
  EXPECT_FALSE(progress.speaks(0, kStart + seconds(1)));
}

TEST(Progress, NamesAllWhoAreMissed) {
  Progress progress(3, kStart);
  progress.see(1, at(1), kStart);
  EXPECT_EQ(progress.text(), "waiting for ranks 0, 2: others have begun collective 1");
}

ProgressSnapshot runs(std::uint32_t count, std::uint32_t order, const std::string& program) {
  ProgressSnapshot moment = at(7);
  moment.runs = count;
  moment.order = order;
  moment.program = program;
  return moment;
}

TEST(Progress, NamesRanksThatRunDifferentPrograms) {
  Progress progress(3, kStart);
  progress.see(0, runs(12, 5, "train"), kStart);
  progress.see(1, runs(11, 4, "evaluate"), kStart);
  progress.see(2, runs(12, 5, "train"), kStart);
  EXPECT_FALSE(progress.divergence());
  progress.see(1, runs(12, 6, "evaluate"), kStart);
  EXPECT_EQ(progress.divergence(),
            "rank 1 runs program `evaluate` where rank 0 runs program `train` (run 12 of the job's programs)");
  progress.see(2, runs(12, 7, "other"), kStart);
  EXPECT_TRUE(progress.divergence()->starts_with("rank 1 ")) << "the first stays";
}

TEST(Progress, NamesARankAtTheEndAndAnEarlierDifference) {
  Progress ended(2, kStart), earlier(2, kStart);
  ended.see(1, runs(3, 5, ""), kStart);
  ended.see(0, runs(3, 6, "train"), kStart);
  EXPECT_EQ(ended.divergence(),
            "rank 0 runs program `train` where rank 1 is at the end of the script (run 3 of the job's programs)");
  earlier.see(0, runs(9, 5, "train"), kStart);
  earlier.see(1, runs(9, 6, "train"), kStart);
  EXPECT_EQ(earlier.divergence(),
            "rank 1 has run other programs than rank 0 before the last one (run 9 of the job's programs)");
}

TEST(Progress, ComparesWithWhatOthersSaidBefore) {
  Progress progress(2, kStart);
  for (std::uint32_t run = 1; run < 3000; ++run) progress.see(0, runs(run, run, "train"), kStart);
  progress.see(1, runs(1, 99, "evaluate"), kStart);
  EXPECT_FALSE(progress.divergence()) << "too long ago";
  progress.see(1, runs(2900, 99, "evaluate"), kStart);
  EXPECT_TRUE(progress.divergence());
}

}  // namespace
}  // namespace baleen::launchers
