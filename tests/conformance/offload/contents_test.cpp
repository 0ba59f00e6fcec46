/// \file What was put is what is got: random ranges against a model in memory, many at a time, and slots in place.
#include <cstdint>
#include <random>

#include "suite.hpp"
#include "support/seed.hpp"

namespace baleen::conformance {
namespace {

class OffloadContents : public OffloadSuite {};

void fill(std::byte* data, std::size_t bytes, std::mt19937_64& random) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
}

TEST_P(OffloadContents, DescribeThemselves) {
  Store store(GetParam());
  EXPECT_STREQ(store.plugin.descriptor.kind, "offload");
  EXPECT_EQ(store.plugin.descriptor.name, GetParam().name);
  EXPECT_EQ(store.plugin.descriptor.kind_revision, static_cast<std::uint32_t>(BALEEN_OFFLOAD_REVISION));
  const baleen_offload_info_t info = store.info();
  EXPECT_EQ(info.size, sizeof info);
  for (const std::uint64_t alignment : {info.alignment, info.memory_alignment})
    EXPECT_TRUE(alignment >= 64 && alignment <= 65536 && (alignment & (alignment - 1)) == 0) << alignment;
  EXPECT_GT(info.capacity, 1u << 20);
  EXPECT_EQ(info.in_use, 0u);
  EXPECT_EQ(info.slots, 0u);
  EXPECT_EQ((info.flags & BALEEN_OFFLOAD_MAPPED) != 0, store.plugin.table.map != nullptr);
  EXPECT_EQ(info.flags & BALEEN_OFFLOAD_PINNED, 0u) << "nobody pins";
}

TEST_P(OffloadContents, AreZerosBeforeTheFirstPut) {
  Store store(GetParam());
  store.reserve({100000, 10});
  const Memory memory(100000);
  std::memset(memory.get(), 7, 100000);
  store.get(0, 0, 100000, memory.get());
  store.get(1, 0, 10, memory.get());
  EXPECT_TRUE(std::all_of(memory.get(), memory.get() + 100000, [](std::byte b) { return b == std::byte{0}; }));
}

TEST_P(OffloadContents, AreThoseOfAModel) {
  std::mt19937_64 random(test::seed());
  Store store(GetParam());
  const std::uint64_t block = store.info().alignment;
  std::vector<std::uint64_t> sizes = {0, 1, block - 1, block, block + 1, 10 * block, (3u << 20) + 5, 5u << 20};
  for (int i = 0; i < 8; ++i) sizes.push_back(random() % (1u << 20));
  store.reserve({sizes.begin(), sizes.begin() + 5});
  store.reserve({sizes.begin() + 5, sizes.end()});  // numbered on
  EXPECT_EQ(store.info().slots, sizes.size());
  std::vector<std::vector<std::byte>> model;
  for (const std::uint64_t size : sizes) model.emplace_back(size);
  const std::uint64_t most = 5u << 20;
  for (int i = 0; i < 300; ++i) {
    const auto slot = static_cast<std::uint32_t>(random() % sizes.size());
    const std::uint64_t size = sizes[slot], offset = size ? random() % size / block * block : 0;
    std::uint64_t bytes = size ? random() % (size - offset + 1) / block * block : 0;
    if (random() % 3 == 0) bytes = size - offset;
    const Memory memory(most, 4096, random() % 2 == 0);
    const bool puts = random() % 2 == 0;
    if (puts) {
      fill(memory.get(), bytes, random);
      std::copy_n(memory.get(), bytes, model[slot].begin() + static_cast<std::ptrdiff_t>(offset));
      store.put(slot, offset, bytes, memory.get());
    } else {
      memory.get()[bytes] = std::byte{99};
      store.get(slot, offset, bytes, memory.get());
      ASSERT_TRUE(
          std::equal(memory.get(), memory.get() + bytes, model[slot].begin() + static_cast<std::ptrdiff_t>(offset)))
          << "slot " << slot << " offset " << offset << " bytes " << bytes;
      ASSERT_EQ(memory.get()[bytes], std::byte{99}) << "beyond the end";
    }
  }
}

// Three rotating buffers a slot, as a step uses them, all under way at once.
TEST_P(OffloadContents, AreRightWithManyUnderWay) {
  std::mt19937_64 random(test::seed());
  constexpr std::uint32_t kSlots = 24;
  constexpr std::uint64_t kBytes = 300'000;
  Store store(GetParam(), 0, kSlots);
  store.reserve(std::vector<std::uint64_t>(kSlots, kBytes));
  std::vector<Memory> put, got;
  std::vector<baleen_event_t> events(kSlots);
  for (std::uint32_t i = 0; i < kSlots; ++i) put.emplace_back(kBytes), got.emplace_back(kBytes);
  for (std::uint64_t turn = 0; turn < 5; ++turn) {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      fill(put[i].get(), kBytes, random);
      store.expect_ok(store.try_put(Store::transfer(i, 0, kBytes, put[i].get(), &events[i], 2 * turn + 1)));
    }
    for (std::uint32_t i = 0; i < kSlots; ++i) store.await(events[i], i, 2 * turn + 1);
    for (std::uint32_t i = kSlots; i-- > 0;)
      store.expect_ok(store.try_get(Store::transfer(i, 0, kBytes, got[i].get(), &events[i], 2 * turn + 2)));
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      store.await(events[i], i, 2 * turn + 2);
      ASSERT_EQ(std::memcmp(put[i].get(), got[i].get(), kBytes), 0) << "slot " << i << " in turn " << turn;
    }
  }
}

TEST_P(OffloadContents, MayBeTenThousandSlots) {
  Store store(GetParam());
  store.reserve(std::vector<std::uint64_t>(10'000, 3000));
  const Memory memory(3000);
  for (const std::uint32_t slot : {0u, 1u, 4999u, 9999u}) {
    std::memset(memory.get(), static_cast<int>(slot % 251), 3000);
    store.put(slot, 0, 3000, memory.get());
  }
  store.get(1, 0, 3000, memory.get());
  EXPECT_EQ(memory.get()[2999], std::byte{1});
  store.get(9999, 0, 3000, memory.get());
  EXPECT_EQ(memory.get()[2999], std::byte{9999 % 251});
  const baleen_offload_info_t info = store.info();
  EXPECT_EQ(info.slots, 10'000u);
  EXPECT_EQ(info.in_use, 10'000 * ((3000 + info.alignment - 1) / info.alignment * info.alignment));
}

TEST_P(OffloadContents, AreReachedInPlaceWhereTheyCanBeMapped) {
  Store store(GetParam());
  if (!store.plugin.table.map) return;  // DescribeThemselves compares this with the flags
  store.reserve({5000, 100'000});
  void* base = nullptr;
  store.expect_ok(store.plugin.table.map(store.get_handle(), 1, &base));
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(base) % store.info().memory_alignment, 0u);
  const Memory memory(100'000);
  std::memset(memory.get(), 5, 100'000);
  store.put(1, 0, 100'000, memory.get());
  auto* const bytes = static_cast<std::byte*>(base);
  EXPECT_EQ(bytes[99'999], std::byte{5});
  bytes[777] = std::byte{6};
  store.get(1, 0, 100'000, memory.get());
  EXPECT_EQ(memory.get()[777], std::byte{6});
  store.put(1, 0, 100'000, bytes);  // onto itself
  store.get(0, 0, 5000, memory.get());
  EXPECT_EQ(memory.get()[4999], std::byte{0}) << "a neighbour";
  EXPECT_EQ(store.plugin.table.map(store.get_handle(), 2, &base), BALEEN_INVALID);
  EXPECT_EQ(store.plugin.host->failure(), "map of slot 2: there are 2 slots");
}

TEST_P(OffloadContents, StayWhenTheSpeedIsMeasured) {
  Store store(GetParam(), 1u << 20);
  baleen_offload_speed_t speed{};
  speed.size = sizeof speed;
  store.expect_ok(store.plugin.table.measure(store.get_handle(), 0.05, &speed));
  for (const double rate : {speed.put_bytes_per_second, speed.get_bytes_per_second}) EXPECT_GT(rate, 1e6);
  for (const double seconds : {speed.put_seconds, speed.get_seconds})
    EXPECT_TRUE(seconds > 0 && seconds < 10) << seconds;
  EXPECT_EQ(store.info().in_use, 0u) << "the room is given back";
  store.reserve({1u << 20});
  const Memory memory(1u << 20);
  std::memset(memory.get(), 3, 1u << 20);
  store.put(0, 0, 1u << 20, memory.get());
  store.expect_ok(store.plugin.table.measure(store.get_handle(), 0.05, &speed));
  EXPECT_EQ(store.info().slots, 1u);
  store.get(0, 0, 1u << 20, memory.get());
  EXPECT_EQ(memory.get()[12345], std::byte{3});
  store.reserve({});
  EXPECT_EQ(store.plugin.table.measure(store.get_handle(), 0.01, &speed), BALEEN_INVALID);
}

BALEEN_OFFLOAD_SUITE(OffloadContents);

}  // namespace
}  // namespace baleen::conformance
