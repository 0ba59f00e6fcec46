/// \file Values of threads: one each, destroyed with their thread or with the whole, whichever comes first.
#include "baleen/per_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace baleen::sdk {
namespace {

struct Counted {
  inline static std::atomic<int> alive = 0;
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int number = 0;
};

TEST(PerThread, GivesEveryThreadItsOwn) {
  PerThread<Counted> values;
  values.here().number = -1;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      right += values.here().number == 0;
      values.here().number = i;
      right += values.here().number == i;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 16);
  EXPECT_EQ(values.here().number, -1);
  EXPECT_EQ(Counted::alive, 1) << "those of threads that ended";
}

TEST(PerThread, DestroysWhatLivingThreadsHave) {
  std::atomic<bool> has = false, may_end = false;
  std::thread other;
  {
    PerThread<Counted> values;
    other = std::thread([&] {
      values.here();
      has = true;
      while (!may_end) std::this_thread::yield();
    });
    while (!has) std::this_thread::yield();
    EXPECT_EQ(Counted::alive, 1);
  }
  EXPECT_EQ(Counted::alive, 0);
  may_end = true;
  other.join();
}

/// A key is taken from the process only while its values live.
TEST(PerThread, GivesItsKeyBack) {
  for (int i = 0; i < 5000; ++i) {
    PerThread<Counted> values;
    values.here();
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace baleen::sdk
