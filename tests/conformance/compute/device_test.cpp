/// \file Devices: what they say of themselves, memory, streams, events, and what they refuse.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "baleen/event.hpp"
#include "conformance/compute/harness.hpp"
#include "support/sized_struct.hpp"

namespace baleen::conformance {
namespace {

class DeviceSuite : public ComputeTest {
 protected:
  const baleen_compute_t& table() { return plugin().table(); }
};

TEST_P(DeviceSuite, SaysWhatItIs) {
  baleen_device_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(table().info(two().get(), &info), BALEEN_OK);
  EXPECT_GT(std::strlen(info.name), 0u);
  EXPECT_GT(std::strlen(info.summary), 0u);
  EXPECT_GT(info.memory_bytes, 0u);
  EXPECT_EQ(info.alignment & (info.alignment - 1), 0u);
  EXPECT_GE(info.alignment, 16u);
}
/// As a host of an earlier minor version has them. The limits are a list, whose elements lie as far apart as they are
/// long.
TEST_P(DeviceSuite, FillsNoMoreOfAStructThanItsSize) {
  const std::uint64_t older = offsetof(baleen_device_info_t, threads);
  test::SizedStruct<baleen_device_info_t> info(older);
  ASSERT_EQ(table().info(two().get(), info.get()), BALEEN_OK);
  EXPECT_EQ(info.get()->size, older);
  EXPECT_GT(info.get()->memory_bytes, 0u);
  EXPECT_TRUE(info.is_whole_behind(older));

  const void* found = table().query(two().get(), abi(BALEEN_DEVICE_LIMITS));
  if (!found) return;
  const std::uint64_t older_limits = offsetof(baleen_device_limits_t, bytes_per_second);
  test::SizedStruct<baleen_device_limits_t> limits(older_limits);
  ASSERT_EQ(static_cast<const baleen_compute_limits_t*>(found)->of(two().get(), limits.get()), BALEEN_OK);
  EXPECT_EQ(limits.get()->size, older_limits);
  EXPECT_GT(std::strlen(limits.get()->name), 0u);
  EXPECT_TRUE(limits.is_whole_behind(older_limits));
}
TEST_P(DeviceSuite, ArenasAreZeroedAndAligned) {
  baleen_device_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(table().info(one().get(), &info), BALEEN_OK);
  for (const baleen_arena_kind_t kind : {BALEEN_ARENA_PRIVATE, BALEEN_ARENA_SHARED, BALEEN_ARENA_PINNED})
    for (const std::uint64_t bytes :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{100000}, std::uint64_t{5} << 20}) {
      void* base = nullptr;
      ASSERT_EQ(table().arena_create(one().get(), kind, bytes, &base), BALEEN_OK);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % info.alignment, 0u);
      std::vector<char> host(bytes + 1, 1);
      ASSERT_EQ(table().copy(one().get(), one().stream(), host.data(), base, bytes), BALEEN_OK);
      ASSERT_EQ(table().synchronize(one().get(), one().stream()), BALEEN_OK);
      EXPECT_TRUE(std::all_of(host.begin(), host.end() - 1, [](char c) { return c == 0; }));
      table().arena_destroy(one().get(), kind, base, bytes);
    }
}
TEST_P(DeviceSuite, RefusesMoreMemoryThanItHas) {
  baleen_device_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(table().info(one().get(), &info), BALEEN_OK);
  void* base = nullptr;
  EXPECT_EQ(table().arena_create(one().get(), BALEEN_ARENA_PRIVATE, info.memory_bytes + (1 << 20), &base),
            BALEEN_NO_MEMORY);
  EXPECT_NE(plugin().last_failure(), "");
}
TEST_P(DeviceSuite, KeepsToTheMemoryOption) {
  Device small(plugin(), {{"memory", 8}});
  baleen_device_info_t info{};
  info.size = sizeof info;
  ASSERT_EQ(table().info(small.get(), &info), BALEEN_OK);
  EXPECT_EQ(info.memory_bytes, std::uint64_t{8} << 20);
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(table().arena_create(small.get(), BALEEN_ARENA_PRIVATE, 5 << 20, &first), BALEEN_OK);
  EXPECT_EQ(table().arena_create(small.get(), BALEEN_ARENA_SHARED, 5 << 20, &second), BALEEN_NO_MEMORY);
  table().arena_destroy(small.get(), BALEEN_ARENA_PRIVATE, first, 5 << 20);
  ASSERT_EQ(table().arena_create(small.get(), BALEEN_ARENA_SHARED, 5 << 20, &second), BALEEN_OK);
  table().arena_destroy(small.get(), BALEEN_ARENA_SHARED, second, 5 << 20);
}
TEST_P(DeviceSuite, CopiesAndZeroes) {
  void* base = nullptr;
  const std::uint64_t bytes = (std::uint64_t{3} << 20) + 7;
  ASSERT_EQ(table().arena_create(two().get(), BALEEN_ARENA_PRIVATE, bytes, &base), BALEEN_OK);
  std::vector<unsigned char> host(bytes), back(bytes);
  for (std::size_t i = 0; i < bytes; ++i) host[i] = static_cast<unsigned char>(random());
  ASSERT_EQ(table().copy(two().get(), two().stream(), base, host.data(), bytes), BALEEN_OK);
  ASSERT_EQ(table().zero(two().get(), two().stream(), static_cast<char*>(base) + 5, 2000000), BALEEN_OK);
  ASSERT_EQ(table().copy(two().get(), two().stream(), back.data(), base, bytes), BALEEN_OK);
  ASSERT_EQ(table().synchronize(two().get(), two().stream()), BALEEN_OK);
  std::fill_n(host.begin() + 5, 2000000, static_cast<unsigned char>(0));
  EXPECT_EQ(host, back);
  table().arena_destroy(two().get(), BALEEN_ARENA_PRIVATE, base, bytes);
}
TEST_P(DeviceSuite, StreamsWaitForEvents) {
  baleen_event_t ready{}, done{};
  ready.size = done.size = sizeof ready;
  std::atomic<bool> signalled{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    signalled = true;
    event_signal(ready, 3);
  });
  ASSERT_EQ(table().stream_wait(one().get(), one().stream(), &ready, 3), BALEEN_OK);
  ASSERT_EQ(table().stream_signal(one().get(), one().stream(), &done, 9), BALEEN_OK);
  event_wait(done, 9);
  EXPECT_TRUE(signalled);
  EXPECT_EQ(event_value(done), 9u);
  other.join();
}
TEST_P(DeviceSuite, SupportsNoUnknownOp) {
  const baleen_op_view_t op{sizeof op, abi("no_such_op"), abi("x"), nullptr, 0, nullptr, 0, nullptr, 0};
  const baleen_region_t region{sizeof region, &op, 1, nullptr, 0, nullptr},
      nothing{sizeof region, nullptr, 0, nullptr, 0, nullptr};
  EXPECT_EQ(table().supports(one().get(), &region), 0u);
  EXPECT_EQ(table().supports(one().get(), &nothing), 0u);
  baleen_kernel_t kernel{};
  kernel.size = sizeof kernel;
  EXPECT_EQ(table().compile(one().get(), &region, &kernel), BALEEN_UNSUPPORTED);
  EXPECT_NE(plugin().last_failure().find("no_such_op"), std::string::npos);
}
TEST_P(DeviceSuite, AnswersNullForUnknownPowers) {
  EXPECT_EQ(table().query(one().get(), abi("baleen.compute.no_such_power/1")), nullptr);
}

TEST(Event, WakesEverySleeper) {
  baleen_event_t event{};
  event.size = sizeof event;
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;
  for (std::uint64_t value = 1; value <= 4; ++value)
    threads.emplace_back([&, value] {
      event_wait(event, value);
      ++woken;
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(woken, 0);
  event_signal(event, 2);
  threads[0].join();
  threads[1].join();
  EXPECT_EQ(woken, 2);
  event_signal(event, 1);  // never falls
  EXPECT_EQ(event_value(event), 2u);
  event_signal(event, 100);
  threads[2].join();
  threads[3].join();
}
TEST(Event, GivesUpWhenTheTimeIsOver) {
  baleen_event_t event{};
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(event_wait(event, 1, 0.05));
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(49));
  event_signal(event, 1);
  EXPECT_TRUE(event_wait(event, 1, 0));
}

BALEEN_COMPUTE_SUITE(DeviceSuite);

}  // namespace
}  // namespace baleen::conformance
