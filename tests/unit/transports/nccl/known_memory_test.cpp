/// \file Which sides of a collective have to lie alike on all members: where that is so, all say the same.
#include "known_memory.hpp"

#include <gtest/gtest.h>

namespace baleen::nccl {
namespace {

constexpr std::uint64_t kArena = 1 << 20;

/// Memory of a member: nobody touches it.
struct MemberMemory {
  std::byte* const base;
  Arenas arenas;

  explicit MemberMemory(std::uintptr_t at, bool of_nccl = true)
      : base(reinterpret_cast<std::byte*>(at)), arenas{{base, {kArena, of_nccl}}} {}
};

/// Of one buffer of 16-bit numbers.
Collective one_buffer(baleen_collective_t op, std::size_t place, const void* input, void* output, std::uint64_t count,
                      std::uint64_t block) {
  Collective c;
  c.op = op;
  c.dtype = BALEEN_BF16;
  c.place = place;
  c.members = 2;
  if (is_reducing(op)) c.reduction = BALEEN_SUM;
  if (op == BALEEN_PERMUTE) c.destinations = {1, 0};
  CollectiveEntry e;
  e.input = input;
  e.output = output;
  e.count = count;
  e.block = block;
  c.entries.push_back(e);
  return c;
}

std::string layout(const Collective& c, const Arenas& arenas, bool takes_windows = true) {
  const Engine engine;
  return KnownMemory(engine, nullptr, takes_windows).layout(c, arenas);
}

const MemberMemory kFirst(0x10000000), kSecond(0x70000000);

/// A collective of each member, with sides at offsets.
bool are_alike(baleen_collective_t op, std::pair<std::uint64_t, std::uint64_t> first,
               std::pair<std::uint64_t, std::uint64_t> second, std::uint64_t count = 8, std::uint64_t block = 4) {
  const std::string a = layout(one_buffer(op, 0, kFirst.base + first.first, kFirst.base + first.second, count, block),
                               kFirst.arenas),
                    b = layout(
                        one_buffer(op, 1, kSecond.base + second.first, kSecond.base + second.second, count, block),
                        kSecond.arenas);
  EXPECT_FALSE(a.empty());
  return a == b;
}

TEST(NcclKnownMemory, ComparesBothSidesOfASum) {
  EXPECT_TRUE(are_alike(BALEEN_ALL_REDUCE, {0, 512}, {0, 512}));
  EXPECT_FALSE(are_alike(BALEEN_ALL_REDUCE, {0, 512}, {2, 512}));
  EXPECT_FALSE(are_alike(BALEEN_ALL_REDUCE, {0, 512}, {0, 514}));
}

/// Four elements of two bytes are a block.
TEST(NcclKnownMemory, ComparesTheWholeWhereABlockIsInItsPlace) {
  EXPECT_TRUE(are_alike(BALEEN_ALL_GATHER, {512, 512}, {520, 512}));
  EXPECT_FALSE(are_alike(BALEEN_ALL_GATHER, {256, 512}, {260, 512})) << "not in its place";
  EXPECT_FALSE(are_alike(BALEEN_ALL_GATHER, {512, 512}, {522, 514}));
  EXPECT_TRUE(are_alike(BALEEN_REDUCE_SCATTER, {512, 512}, {512, 520}));
  EXPECT_FALSE(are_alike(BALEEN_REDUCE_SCATTER, {512, 512}, {514, 522}));
}

/// Uneven blocks go by broadcasts and reductions one by one, whose other side nobody else reaches.
TEST(NcclKnownMemory, ComparesTheWholeAloneOfUnevenBlocks) {
  EXPECT_TRUE(are_alike(BALEEN_ALL_GATHER, {0, 512}, {4, 512}, 7));
  EXPECT_FALSE(are_alike(BALEEN_ALL_GATHER, {0, 512}, {0, 514}, 7));
  EXPECT_TRUE(are_alike(BALEEN_REDUCE_SCATTER, {0, 512}, {0, 516}, 7));
}

TEST(NcclKnownMemory, ComparesWhatMembersOfARootReach) {
  EXPECT_TRUE(are_alike(BALEEN_BROADCAST, {0, 512}, {4, 512}));
  EXPECT_FALSE(are_alike(BALEEN_BROADCAST, {0, 512}, {0, 516}));
  EXPECT_TRUE(are_alike(BALEEN_REDUCE, {512, 0}, {512, 4}));
  EXPECT_FALSE(are_alike(BALEEN_REDUCE, {512, 0}, {516, 0}));
}

TEST(NcclKnownMemory, LeavesMessagesAlone) {
  EXPECT_TRUE(are_alike(BALEEN_PERMUTE, {0, 512}, {8, 600}));
  EXPECT_TRUE(are_alike(BALEEN_ALL_TO_ALL, {0, 512}, {0, 512}, 8, 4));
  EXPECT_FALSE(are_alike(BALEEN_ALL_TO_ALL, {0, 512}, {8, 512}, 8, 4)) << "an even one is one call";
}

/// What is outside of NCCL's memory on all members concerns no window.
TEST(NcclKnownMemory, TellsMemoryOfNcclFromOther) {
  const MemberMemory other(0x10000000, false);
  const Collective c = one_buffer(BALEEN_ALL_REDUCE, 0, kFirst.base, kFirst.base, 8, 0);
  EXPECT_EQ(layout(c, other.arenas), "sides elsewhere elsewhere");
  EXPECT_EQ(layout(c, {}), layout(c, other.arenas));
  EXPECT_NE(layout(c, kFirst.arenas), layout(c, other.arenas));
  EXPECT_EQ(layout(c, kFirst.arenas, false), "") << "no windows are taken";
}

TEST(NcclKnownMemory, ComparesSizes) {
  MemberMemory larger(0x10000000);
  larger.arenas.begin()->second.bytes += 4096;
  const Collective c = one_buffer(BALEEN_ALL_REDUCE, 0, kFirst.base, kFirst.base, 8, 0);
  EXPECT_NE(layout(c, kFirst.arenas), layout(c, larger.arenas));
}

TEST(NcclKnownMemory, FindsTheArenaThatHoldsAll) {
  const Arenas& arenas = kFirst.arenas;
  EXPECT_EQ(arena_of(arenas, kFirst.base + 10, kArena - 10), arenas.begin());
  EXPECT_EQ(arena_of(arenas, kFirst.base + 10, kArena), arenas.end());
  EXPECT_EQ(arena_of(arenas, kFirst.base - 1, 1), arenas.end());
  EXPECT_EQ(arena_of(arenas, kFirst.base + kArena, 1), arenas.end());
}

}  // namespace
}  // namespace baleen::nccl
