/// \file Offsets against lifetimes: no two live buffers overlap, and little is wasted.
#include "compiler/codegen/memory.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baleen {
namespace {

std::vector<Interval> random_intervals(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<Interval> intervals;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int64_t>(random() % 100);
    const auto length = static_cast<std::int64_t>(random() % (random() % 8 == 0 ? 100 : 10));
    intervals.push_back({random() % 5000, first, first + length});
  }
  return intervals;
}

/// The lower bound, position by position.
std::uint64_t most_live(const std::vector<Interval>& intervals, std::uint64_t alignment) {
  std::uint64_t most = 0;
  for (std::int64_t at = 0; at < 250; ++at) {
    std::uint64_t live = 0;
    for (const Interval& i : intervals)
      if (i.first <= at && at <= i.last) live += align_up(i.bytes, alignment);
    most = std::max(most, live);
  }
  return most;
}

TEST(Memory, LiveBuffersNeverOverlap) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto intervals = random_intervals(seed, seed % 8 == 7 ? 900 : 5 + seed * 3);
    const MemoryPlan plan = plan_memory(intervals, 64);
    for (std::size_t i = 0; i < intervals.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 64, 0u);
      EXPECT_LE(plan.offsets[i] + intervals[i].bytes, plan.arena_bytes);
      for (std::size_t k = 0; k < i; ++k) {
        if (intervals[i].last < intervals[k].first || intervals[k].last < intervals[i].first) continue;
        const bool apart = plan.offsets[i] + intervals[i].bytes <= plan.offsets[k] ||
                           plan.offsets[k] + intervals[k].bytes <= plan.offsets[i];
        EXPECT_TRUE(apart) << "buffers " << i << " and " << k << ", seed " << seed;
      }
    }
  }
}

TEST(Memory, PeakIsTheMostThatIsLiveAtOnce) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto intervals = random_intervals(seed, 60);
    const MemoryPlan plan = plan_memory(intervals, 64);
    EXPECT_EQ(plan.peak_bytes, most_live(intervals, 64)) << "seed " << seed;
    std::uint64_t live = 0;
    for (const Interval& i : intervals)
      if (i.first <= plan.peak_position && plan.peak_position <= i.last) live += align_up(i.bytes, 64);
    EXPECT_EQ(live, plan.peak_bytes);
  }
}

TEST(Memory, ArenaIsWithinFivePercentOfTheLowerBound) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto intervals = random_intervals(seed, 200);
    const MemoryPlan plan = plan_memory(intervals, 64);
    EXPECT_GE(plan.arena_bytes, plan.peak_bytes);
    EXPECT_LE(static_cast<double>(plan.arena_bytes), 1.05 * static_cast<double>(plan.peak_bytes)) << "seed " << seed;
  }
}

/// A forward pass keeps activations, a backward pass frees them last in, first out: no waste at all.
TEST(Memory, NestedLifetimesFitExactly) {
  std::vector<Interval> intervals;
  for (std::int64_t layer = 0; layer < 50; ++layer)
    intervals.push_back({static_cast<std::uint64_t>(64 * (1 + layer % 7)), layer, 200 - layer});
  const MemoryPlan plan = plan_memory(intervals, 64);
  EXPECT_EQ(plan.arena_bytes, plan.peak_bytes);
}

TEST(Memory, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}, 64).arena_bytes, 0u);
  EXPECT_EQ(plan_memory({{0, 0, 3}}, 64).arena_bytes, 0u);
}

}  // namespace
}  // namespace baleen
