/// \file The pool: every task once, by whoever comes; and no claim on the pool by two callers at once.
#include "threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>

namespace baleen::cpu {
namespace {

class Pool : public testing::TestWithParam<int> {};

TEST_P(Pool, DoesEachTaskOnce) {
  const Threads threads(GetParam(), true);
  EXPECT_EQ(threads.count(), GetParam());
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t tasks = random() % 40;
    std::vector<int> done(static_cast<std::size_t>(tasks)), by(static_cast<std::size_t>(GetParam()));
    threads.each(tasks, [&](std::int64_t task, int thread) {
      ++done[static_cast<std::size_t>(task)];
      ++by[static_cast<std::size_t>(thread)];
    });
    EXPECT_EQ(done, std::vector<int>(done.size(), 1));
    EXPECT_EQ(std::accumulate(by.begin(), by.end(), 0), tasks);
    if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // workers fall asleep
  }
}

TEST_P(Pool, CutsARangeIntoPieces) {
  const Threads threads(GetParam(), false);
  std::vector<int> touched(1003);
  threads.pieces(1003, 10, [&](std::int64_t begin, std::int64_t end, int) {
    EXPECT_LE(end - begin, 10);
    for (std::int64_t i = begin; i < end; ++i) ++touched[static_cast<std::size_t>(i)];
  });
  EXPECT_EQ(touched, std::vector<int>(touched.size(), 1));
}

TEST_P(Pool, TakesCallsFromWithinATaskAndFromASecondThread) {
  const Threads threads(GetParam(), true);
  std::vector<int> mine(100), theirs(100);
  const auto count = [&](std::vector<int>& list) {
    for (int round = 0; round < 200; ++round)
      threads.each(10, [&](std::int64_t task, int) {
        threads.each(10, [&](std::int64_t inner, int) { ++list[static_cast<std::size_t>(task * 10 + inner)]; });
      });
  };
  std::thread second([&] { count(theirs); });
  count(mine);
  second.join();
  EXPECT_EQ(mine, std::vector<int>(100, 200));
  EXPECT_EQ(theirs, std::vector<int>(100, 200));
}

/// Nobody waits for a worker that never gets a core: here one that sits in a task of another caller's round.
TEST(PoolOfTwo, GoesOnWhileItsWorkersAreBusyElsewhere) {
  const Threads threads(2, true);
  std::atomic<bool> release{false}, held{false};
  std::thread other([&] {
    threads.each(2, [&](std::int64_t, int) {
      held = true;
      while (!release) std::this_thread::yield();
    });
  });
  while (!held) std::this_thread::yield();
  std::vector<int> done(8);
  threads.each(8, [&](std::int64_t task, int) { ++done[static_cast<std::size_t>(task)]; });
  EXPECT_EQ(done, std::vector<int>(8, 1));
  release = true;
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Threads, Pool, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace baleen::cpu
