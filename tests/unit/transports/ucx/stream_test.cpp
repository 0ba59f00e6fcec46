/// \file Buffers as one array of bytes.
#include "stream.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace baleen::ucx {
namespace {

std::array<std::byte, 1 << 18> memory;

TEST(Stream, NeighboursInMemoryAreOneSpan) {
  Stream stream;
  stream.add(memory.data(), 100);
  stream.add(memory.data() + 100, 50);
  stream.add(memory.data() + 200, 8);
  const std::vector<Span> spans = stream.slice({90, 155});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].data, memory.data() + 90);
  EXPECT_EQ(spans[0].bytes, 60u);
  EXPECT_EQ(spans[1].data, memory.data() + 200);
  EXPECT_EQ(spans[1].bytes, 5u);
}

TEST(Stream, ApartEverySpanIsAMessage) {
  Stream stream;
  for (const std::uint64_t bytes : {5, 7, 40'000, 3}) stream.add(memory.data(), bytes);
  std::vector<std::uint64_t> together, apart;
  for (const Range& message : stream.messages(stream.all(), 30'000)) together.push_back(message.size());
  for (const Range& message : stream.messages(stream.all(), 30'000, true)) apart.push_back(message.size());
  EXPECT_EQ(together, (std::vector<std::uint64_t>{12, 30'000, 10'000, 3}));
  EXPECT_EQ(apart, (std::vector<std::uint64_t>{5, 7, 30'000, 10'000, 3}));
}

// Whoever has the cuts finds the same messages, wherever the memory lies: contiguous, scattered, or none.
TEST(Stream, MessagesFollowFromTheCutsAlone) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    Stream together, apart, nowhere;
    for (std::uint64_t at = 0, i = random() % 20; i > 0; --i) {
      const std::uint64_t bytes = random() % (random() % 2 ? 100 : 40'000);
      together.add(memory.data() + at, bytes);
      apart.add(memory.data() + (at + 7 * i) % 1000, bytes);
      nowhere.add(nullptr, bytes);
      at = (at + bytes) % (memory.size() / 2);
    }
    const std::uint64_t begin = random() % (together.bytes() + 1),
                        end = begin + random() % (together.bytes() - begin + 1), limit = 1 + random() % 50'000;
    const std::vector<Range> messages = together.messages({begin, end}, limit);
    std::uint64_t at = begin;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      EXPECT_EQ(messages[i].begin, at) << "seed " << seed;
      EXPECT_GT(messages[i].size(), 0u) << "seed " << seed;
      EXPECT_LE(messages[i].size(), limit) << "seed " << seed;
      at = messages[i].end;
    }
    EXPECT_EQ(at, end) << "seed " << seed;
    for (const Stream* other : {&apart, &nowhere}) {
      const std::vector<Range> same = other->messages({begin, end}, limit);
      ASSERT_EQ(same.size(), messages.size()) << "seed " << seed;
      for (std::size_t i = 0; i < same.size(); ++i) EXPECT_EQ(same[i].end, messages[i].end) << "seed " << seed;
    }
  }
}

TEST(Stream, ShortNeighboursTravelTogether) {
  Stream stream;
  for (int i = 0; i < 50; ++i) stream.add(memory.data() + 1000 * i, 10);
  EXPECT_EQ(stream.messages(stream.all(), 1 << 20).size(), 1u);
  Stream longer;
  longer.add(memory.data(), 10);
  longer.add(memory.data() + 100, 100'000);
  longer.add(memory.data() + 200'000, 10);
  EXPECT_EQ(longer.messages(longer.all(), 1 << 20).size(), 3u);
}

TEST(Stream, MovedMemoryKeepsTheCuts) {
  Stream stream;
  stream.add(memory.data(), 30);
  stream.add(memory.data() + 100, 30);
  const Stream moved = stream.moved({20, 45}, memory.data() + 500);
  EXPECT_EQ(moved.bytes(), 25u);
  ASSERT_EQ(moved.slice(moved.all()).size(), 1u);
  EXPECT_EQ(moved.slice({12, 14})[0].data, memory.data() + 512);
  EXPECT_EQ(common_ranges({&stream}, {20, 45}).size(), 2u);
}

}  // namespace
}  // namespace baleen::ucx
