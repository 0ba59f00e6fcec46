/// \file Bytes of collectives by hand, and what is refused with which words.
#include "baleen/collective.hpp"

#include <gtest/gtest.h>

#include "baleen/proposal.hpp"

namespace baleen {

using namespace sdk;

namespace {

class Arguments : public testing::Test {
 protected:
  Arguments() {
    spec.size = sizeof spec;
    spec.dtype = BALEEN_F32;
    spec.reduction = BALEEN_SUM;
    spec.entries = &entry;
    spec.entry_count = 1;
    spec.where = abi("train.lua:9");
    entry.input = entry.output = memory;
  }
  Collective good(std::size_t place = 0, std::size_t members = 4) {
    auto made = Collective::make(spec, place, members);
    EXPECT_TRUE(made) << made.error().text();
    return *std::move(made);
  }
  std::string refused(std::size_t place = 0, std::size_t members = 4) {
    const auto made = Collective::make(spec, place, members);
    return made ? "accepted" : made.error().text();
  }
  float memory[64] = {};
  baleen_collective_entry_t entry{};
  baleen_collective_spec_t spec{};
};

/// Their bytes are moved by whatever moves; sums and maxima have none.
TEST_F(Arguments, OfEightBitsAreMovedAndNotReduced) {
  entry.count = 4;
  entry.block = 1;
  for (const baleen_dtype_t dtype : {BALEEN_E4M3, BALEEN_E5M2}) {
    spec.dtype = dtype;
    for (const baleen_reduction_t reduction : {BALEEN_SUM, BALEEN_MAXIMUM}) {
      spec.reduction = reduction;
      for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_REDUCE}) {
        spec.op = op;
        EXPECT_NE(refused().find(": 8 bits are moved and not reduced; cast them first"), std::string::npos)
            << refused();
      }
    }
    spec.op = BALEEN_ALL_GATHER;
    EXPECT_EQ(good().width(), 1u);
  }
}

TEST_F(Arguments, CrossTheAbiAsTheyAre) {
  entry.count = 16;
  entry.block = 4;
  entry.output = memory + 32;
  spec.op = BALEEN_ALL_TO_ALL;
  const std::uint64_t sends[] = {1, 2, 3, 4}, receives[] = {4, 0, 2, 1};
  const std::int32_t destinations[] = {1, 2, 3, 0};
  const auto same = [](const Collective& a, const Collective& b) {
    EXPECT_EQ(sdk::detail::difference(a, b), "");
    EXPECT_EQ(a.where, b.where);
    ASSERT_EQ(a.entries.size(), b.entries.size());
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
      EXPECT_EQ(a.entries[i].input, b.entries[i].input);
      EXPECT_EQ(a.entries[i].output, b.entries[i].output);
      EXPECT_EQ(a.entries[i].sends, b.entries[i].sends);
      EXPECT_EQ(a.entries[i].receives, b.entries[i].receives);
    }
  };
  spec.deterministic = 1;
  const Collective equal = good();
  same(*Collective::make(CollectiveSpec(equal), 0, 4), equal);
  entry.count = entry.block = 0;
  entry.sends = sends;
  entry.receives = receives;
  Collective lists = good();
  lists.entries[0].receives = lists.entries[0].sends;  // so that it agrees with itself
  same(*Collective::make(CollectiveSpec(lists), 0, 4), lists);
  entry.sends = entry.receives = nullptr;
  entry.count = 5;
  spec.op = BALEEN_PERMUTE;
  spec.destinations = destinations;
  same(*Collective::make(CollectiveSpec(good(2)), 2, 4), good(2));
  spec.op = BALEEN_REDUCE;
  spec.reduction = BALEEN_MAXIMUM;
  spec.root = 3;
  same(*Collective::make(CollectiveSpec(good(1)), 1, 4), good(1));
}

TEST_F(Arguments, OtherOperandsChangeNothingElse) {
  CollectiveOf<int> numbers{.op = BALEEN_REDUCE,
                            .reduction = BALEEN_SUM,
                            .dtype = BALEEN_F64,
                            .deterministic = true,
                            .root = 2,
                            .entries = {{1, 2, 8, 4, {3}, {5}}, {3, 4, 9, 0, {}, {}}},
                            .destinations = {1, 0},
                            .where = "train.lua:9"};
  std::vector<int> asked;
  const auto placed = numbers.with<const void*, void*>([&](int number) {
    asked.push_back(number);
    return memory + number;
  });
  EXPECT_EQ(asked, (std::vector{1, 2, 3, 4})) << "input before output, entry by entry";
  EXPECT_EQ(placed.op, BALEEN_REDUCE);
  EXPECT_EQ(placed.reduction, BALEEN_SUM);
  EXPECT_EQ(placed.dtype, BALEEN_F64);
  EXPECT_TRUE(placed.deterministic);
  EXPECT_EQ(placed.root, 2u);
  EXPECT_EQ(placed.destinations, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(placed.where, "train.lua:9");
  ASSERT_EQ(placed.entries.size(), 2u);
  EXPECT_EQ(placed.entries[0].input, memory + 1);
  EXPECT_EQ(placed.entries[1].output, memory + 4);
  EXPECT_EQ(placed.entries[0].count, 8u);
  EXPECT_EQ(placed.entries[0].block, 4u);
  EXPECT_EQ(placed.entries[0].sends, std::vector<std::uint64_t>{3});
  EXPECT_EQ(placed.entries[0].receives, std::vector<std::uint64_t>{5});
}

// By the table in transport.h, for four members and ten elements of four bytes.
TEST_F(Arguments, BytesThatAMemberSends) {
  entry.count = 10;
  spec.op = BALEEN_ALL_REDUCE;
  EXPECT_EQ(collective_bytes(good()), 2 * 3 * 40 / 4);
  spec.op = BALEEN_REDUCE;
  spec.root = 1;
  EXPECT_EQ(collective_bytes(good(0)), 40);
  EXPECT_EQ(collective_bytes(good(1)), 0);
  spec.op = BALEEN_BROADCAST;
  EXPECT_EQ(collective_bytes(good(1)), 3 * 40);
  EXPECT_EQ(collective_bytes(good(2)), 0);
  spec.root = 0;
  entry.block = 4;  // blocks of 4, 4, 2, 0
  entry.output = memory + 32;
  spec.op = BALEEN_REDUCE_SCATTER;
  EXPECT_EQ(collective_bytes(good(0)), 24);
  EXPECT_EQ(collective_bytes(good(2)), 32);
  EXPECT_EQ(collective_bytes(good(3)), 40);
  spec.op = BALEEN_ALL_GATHER;
  EXPECT_EQ(collective_bytes(good(1)), 3 * 16);
  EXPECT_EQ(collective_bytes(good(3)), 0);
  spec.op = BALEEN_BARRIER;
  EXPECT_EQ(collective_bytes(good()), 0);
}

TEST_F(Arguments, BytesOfPieces) {
  const std::uint64_t sends[] = {5, 1, 0, 2}, receives[] = {5, 0, 0, 3};
  entry.output = memory + 32;
  entry.sends = sends;
  entry.receives = receives;
  spec.op = BALEEN_ALL_TO_ALL;
  EXPECT_EQ(collective_bytes(good()), 3 * 4);
  EXPECT_EQ(good().input_count(good().entries[0]), 8);
  EXPECT_EQ(good().output_count(good().entries[0]), 8);
  entry = {memory, memory + 32, 8, 2, nullptr, nullptr};
  EXPECT_EQ(collective_bytes(good()), 3 * 2 * 4);
  const std::int32_t destinations[] = {1, 0, 2, -1};
  spec.destinations = destinations;
  spec.op = BALEEN_PERMUTE;
  EXPECT_EQ(collective_bytes(good(0)), 32);
  EXPECT_EQ(collective_bytes(good(2)), 0) << "to itself";
  EXPECT_EQ(collective_bytes(good(3)), 0);
  EXPECT_EQ(good(3).source(), -1);
  EXPECT_EQ(good(0).source(), 1);
  spec.op = BALEEN_SEND;
  spec.root = 2;
  EXPECT_EQ(collective_bytes(good()), 32);
  spec.op = BALEEN_RECEIVE;
  EXPECT_EQ(collective_bytes(good()), 0);
}

TEST_F(Arguments, BytesDoNotOverflow) {
  entry = {memory, memory, std::uint64_t{1} << 60, 0, nullptr, nullptr};
  spec.op = BALEEN_ALL_REDUCE;
  spec.dtype = BALEEN_U8;
  EXPECT_EQ(collective_bytes(good(0, 8)), 7 * (std::uint64_t{1} << 58));
}

TEST_F(Arguments, AreRefusedWithTheirPlace) {
  entry.count = 10;
  spec.op = 99;
  EXPECT_EQ(refused(), "train.lua:9: no collective has the number 99");
  spec.op = BALEEN_ALL_REDUCE;
  spec.dtype = 77;
  EXPECT_EQ(refused(), "train.lua:9: no dtype has the number 77");
  spec.dtype = BALEEN_F32;
  spec.reduction = 5;
  EXPECT_EQ(refused(), "train.lua:9: no reduction has the number 5");
  spec.reduction = BALEEN_SUM;
  entry.output = memory + 1;
  EXPECT_EQ(
      refused(),
      "all_reduce of 10 fp32 at train.lua:9: buffer 0 has an output that overlaps its input without being in place");
  entry.output = nullptr;
  EXPECT_EQ(refused(), "all_reduce of 10 fp32 at train.lua:9: buffer 0 has no output");
  entry.output = memory + 32;
  spec.op = BALEEN_REDUCE_SCATTER;
  entry.block = 2;
  EXPECT_EQ(
      refused(),
      "reduce_scatter of 10 fp32 at train.lua:9: buffer 0 has blocks of 2, too small for 10 elements on 4 members");
  spec.op = BALEEN_ALL_TO_ALL;
  EXPECT_EQ(refused(), "all_to_all of 10 fp32 at train.lua:9: buffer 0 has a count of 10, not block * members = 8");
  spec.op = BALEEN_BROADCAST;
  spec.root = 4;
  EXPECT_EQ(refused(), "train.lua:9: broadcast: the root or peer 4 is not another member of the group of 4");
  spec.op = BALEEN_PERMUTE;
  EXPECT_EQ(refused(), "train.lua:9: permute: no destinations");
  const std::int32_t twice[] = {1, 1, -1, -1};
  spec.destinations = twice;
  EXPECT_EQ(refused(), "permute of 10 fp32 at train.lua:9: member 1 sends to member 1, which another sends to");
}

TEST_F(Arguments, InPlaceIsTheBlocksOwnPlace) {
  entry.count = 10;
  entry.block = 3;
  spec.op = BALEEN_REDUCE_SCATTER;
  entry.output = memory + 6;
  EXPECT_EQ(refused(2), "accepted");
  EXPECT_NE(refused(1), "accepted");
  spec.op = BALEEN_ALL_GATHER;
  entry.input = memory + 9;
  entry.output = memory;
  EXPECT_EQ(refused(3), "accepted");
  EXPECT_NE(refused(2), "accepted");
}

TEST_F(Arguments, ProposalsAgreeOrTheFirstTwoThatDoNotAreNamed) {
  entry.count = 10;
  spec.op = BALEEN_ALL_REDUCE;
  std::vector<Proposal> proposals;
  for (std::int32_t rank : {3, 5, 8}) {
    auto made = propose(rank, {3, 5, 8}, spec);
    ASSERT_TRUE(made);
    proposals.push_back(*std::move(made));
  }
  EXPECT_TRUE(agree(proposals));
  proposals[2].collective->entries[0].count = 11;
  EXPECT_EQ(agree(proposals).error().text(),
            "rank 8 prepares all_reduce of 11 fp32 at train.lua:9 where rank 3 prepares all_reduce of 10 fp32 at "
            "train.lua:9 (buffer 0 has elements 11, not 10)");
  proposals[1].refusal = "no memory";
  EXPECT_EQ(agree(proposals).error().text(), "rank 5 refuses: no memory");
  EXPECT_EQ(agree(proposals).error().code, BALEEN_INVALID);
  proposals[1].refuse({BALEEN_NO_MEMORY, "no page", {}});
  EXPECT_EQ(agree(proposals).error().text(), "rank 5 refuses: no page");
  EXPECT_EQ(agree(proposals).error().code, BALEEN_NO_MEMORY) << "its own code, for all";
  proposals[1] = *propose(5, 9, {3, 5, 8}, 0);
  EXPECT_EQ(
      agree({proposals[0], proposals[1]}).error().text(),
      "rank 5 creates a group of 3, 5, 8 where rank 3 prepares all_reduce of 10 fp32 at train.lua:9 (another group)");
}

TEST_F(Arguments, AGroupIsAnAscendingListWithTheCaller) {
  EXPECT_TRUE(propose(2, 4, {0, 2, 3}, 0));
  for (const std::vector<std::int32_t>& bad : {std::vector<std::int32_t>{}, {0, 1}, {2, 0}, {2, 2}, {-1, 2}, {2, 4}})
    EXPECT_FALSE(propose(2, 4, bad, 0)) << bad.size();
}

}  // namespace
}  // namespace baleen
