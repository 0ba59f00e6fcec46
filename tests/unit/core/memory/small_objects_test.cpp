/// \file The region itself, without anybody's `new`.
#include "core/memory/small_objects.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace baleen {
namespace {

constexpr std::uint64_t kPage = 65536;

/// Each case has a region of its own, whose addresses are its process's until the end, as a program's are.
class SmallObjectsCase : public testing::Test {
 protected:
  /// An object filled with a byte of its own, to see that no two share memory.
  struct Object {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
  };

  Object take(std::size_t bytes) {
    auto* const at = static_cast<unsigned char*>(region->take(bytes));
    EXPECT_NE(at, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 16, 0U);
    EXPECT_TRUE(region->has(at));
    const Object object{at, bytes, static_cast<unsigned char>(next_mark_++)};
    std::memset(at, object.mark, bytes);
    return object;
  }
  /// Checks that nobody else wrote there.
  void give(const Object& object) {
    for (std::size_t i = 0; i < object.bytes; ++i) ASSERT_EQ(object.at[i], object.mark) << "byte " << i;
    region->give(object.at);
  }

  std::unique_ptr<SmallObjects> region = std::make_unique<SmallObjects>();

 private:
  unsigned next_mark_ = 1;
};

TEST_F(SmallObjectsCase, KeepsObjectsApart) {
  ASSERT_TRUE(region->enter());
  std::mt19937 random(5);
  std::vector<Object> objects;
  std::uint64_t live = 0;
  const auto rounded = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  for (int i = 0; i < 60'000; ++i) {
    if (objects.empty() || random() % 5 < 3) {
      objects.push_back(take(1 + random() % SmallObjects::kLargest));
      live += rounded(objects.back().bytes);
      continue;
    }
    std::swap(objects[random() % objects.size()], objects.back());
    live -= rounded(objects.back().bytes);
    give(objects.back());
    objects.pop_back();
  }
  EXPECT_EQ(region->usage().live, live);
  for (const Object& object : objects) give(object);
  EXPECT_EQ(region->usage().live, 0U);
  region->leave();
  EXPECT_EQ(region->usage().taken, 0U);
}

TEST_F(SmallObjectsCase, GivesBackPagesWithoutObjects) {
  ASSERT_TRUE(region->enter());
  std::vector<Object> objects;
  for (int i = 0; i < 3 * 64; ++i) objects.push_back(take(1024));  // three pages
  EXPECT_EQ(region->usage().taken, 3 * kPage);
  const Object kept = objects[64];  // of the second one
  for (const Object& object : objects)
    if (object.at != kept.at) give(object);
  region->leave();
  EXPECT_EQ(region->usage().taken, kPage);
  EXPECT_EQ(region->usage().live, 1024U);

  // They are taken again, by any size.
  ASSERT_TRUE(region->enter());
  std::vector<Object> others;
  for (int i = 0; i < 2 * 4096; ++i) others.push_back(take(16));
  EXPECT_EQ(region->usage().taken, 3 * kPage);
  for (const Object& object : others) give(object);
  give(kept);
  region->leave();
  EXPECT_EQ(region->usage().taken, 0U);
}

TEST_F(SmallObjectsCase, GoesOnBehindAFullPage) {
  std::vector<Object> objects;
  for (const int more : {64, 1, 63, 64}) {  // 64 fill a page
    ASSERT_TRUE(region->enter());
    for (int i = 0; i < more; ++i) objects.push_back(take(1024));
    region->leave();
  }
  EXPECT_EQ(region->usage().taken, 3 * kPage);
  for (const Object& object : objects) give(object);  // behind all scopes
  ASSERT_TRUE(region->enter());
  region->leave();
  EXPECT_EQ(region->usage().taken, 0U);
}

TEST_F(SmallObjectsCase, TakesWhatOtherThreadsGive) {
  ASSERT_TRUE(region->enter());
  constexpr int kThreads = 4, kEach = 20'000;
  std::vector<std::vector<Object>> of_thread(kThreads);
  for (int i = 0; i < kThreads * kEach; ++i) of_thread[static_cast<std::size_t>(i % kThreads)].push_back(take(48));
  const std::uint64_t before = region->usage().taken;
  std::atomic<int> over = 0;
  std::vector<std::thread> threads;
  for (auto& objects : of_thread)
    threads.emplace_back([&] {
      for (const Object& object : objects) give(object);
      ++over;
    });
  // This one takes meanwhile.
  std::vector<Object> mine;
  while (over < kThreads) {
    mine.push_back(take(48));
    if (mine.size() < 64) continue;
    for (const Object& object : mine) give(object);
    mine.clear();
  }
  for (std::thread& thread : threads) thread.join();
  for (const Object& object : mine) give(object);
  // What was given is taken before new pages are.
  for (int i = 0; i < kEach; ++i) mine.push_back(take(48));
  EXPECT_LE(region->usage().taken, before + kPage);
  for (int i = 0; i < kEach; ++i) give(mine[mine.size() - 1 - static_cast<std::size_t>(i)]);
  region->leave();
  EXPECT_EQ(region->usage().taken, 0U);
}

TEST_F(SmallObjectsCase, IsOneThreadsAtATime) {
  ASSERT_TRUE(region->enter());
  ASSERT_TRUE(region->enter()) << "the same thread again";
  EXPECT_TRUE(SmallObjects::is_here());
  std::thread([&] {
    EXPECT_FALSE(SmallObjects::is_here());
    EXPECT_FALSE(region->enter());
  }).join();
  region->leave();
  EXPECT_TRUE(SmallObjects::is_here());
  region->leave();
  EXPECT_FALSE(SmallObjects::is_here());
  std::thread([&] {
    EXPECT_TRUE(region->enter());
    region->leave();
  }).join();
}

TEST_F(SmallObjectsCase, IsNoOnesWhereAddressesAreFew) {
  const auto enter = [&] {
    const rlimit limit{1 << 30, 1 << 30};
    ::setrlimit(RLIMIT_AS, &limit);
    ::_exit(region->enter() ? 1 : 7);
  };
  EXPECT_EXIT(enter(), testing::ExitedWithCode(7), "");
}

TEST_F(SmallObjectsCase, HasNothingElse) {
  int local = 0;
  EXPECT_FALSE(region->has(&local));
  EXPECT_FALSE(region->has(nullptr));
  ASSERT_TRUE(region->enter());
  EXPECT_FALSE(region->has(&local));
  EXPECT_FALSE(region->has(nullptr));
  region->leave();
}

}  // namespace
}  // namespace baleen
