/// \file Proposals come back from their bytes; what contradicts itself is not taken.
#include "baleen/proposal_codec.hpp"

#include <gtest/gtest.h>

namespace baleen::sdk {
namespace {

Proposal of(baleen_collective_t op, std::vector<std::int32_t> destinations = {}) {
  Proposal p{0, 7, {0, 3, 5}, {0, 3, 5}, Collective{}, {}, BALEEN_INVALID};
  Collective& c = *p.collective;
  c.op = op;
  c.reduction = BALEEN_SUM;
  c.dtype = BALEEN_F32;
  c.root = 1;
  c.members = 3;
  c.destinations = std::move(destinations);
  c.where = "train.lua:9";
  c.entries.resize(2);
  for (CollectiveEntry& entry : c.entries) entry.count = 9;
  return p;
}

std::string bytes_of(const Proposal& proposal) {
  ProposalWriter writer;
  walk_proposal(writer, proposal);
  return writer.bytes;
}

/// What comes back; nothing where the bytes are not taken.
std::optional<Proposal> read(const std::string& bytes) {
  Proposal proposal;
  ProposalReader reader{bytes};
  walk_proposal(reader, proposal);
  return reader.complete() ? std::optional(std::move(proposal)) : std::nullopt;
}

TEST(ProposalCodec, BringsProposalsBack) {
  Proposal lists = of(BALEEN_ALL_TO_ALL);
  lists.collective->entries[1].sends = lists.collective->entries[1].receives = {2, 3, 4};
  Proposal refused = of(BALEEN_BARRIER);
  refused.refuse({BALEEN_NO_MEMORY, "no page", {}});
  const Proposal group = *propose(3, 9, {0, 3, 5}, 7);
  for (const Proposal& proposal : {of(BALEEN_ALL_REDUCE), lists, of(BALEEN_PERMUTE, {1, -1, 0}), refused, group}) {
    const auto again = read(bytes_of(proposal));
    ASSERT_TRUE(again) << proposal.text();
    EXPECT_EQ(bytes_of(*again), bytes_of(proposal));
    EXPECT_EQ(again->text(), proposal.text());
    for (std::size_t size = 0; size < bytes_of(proposal).size(); ++size)
      EXPECT_FALSE(read(bytes_of(proposal).substr(0, size))) << size;
  }
}

/// Comparing such proposals read beyond their lists, or never ended.
TEST(ProposalCodec, RefusesACollectiveOfOtherMembersThanItsGroup) {
  const auto refuses = [](auto change) {
    Proposal proposal = of(BALEEN_ALL_TO_ALL);
    change(*proposal.collective);
    return !read(bytes_of(proposal));
  };
  EXPECT_FALSE(refuses([](Collective&) {}));
  EXPECT_TRUE(refuses([](Collective& c) { c.members = std::size_t{1} << 60; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.place = 3; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.root = 3; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.entries[1].sends = {1, 2}; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.entries[0].receives = {1, 2, 3, 4}; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.destinations = {1}; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.op = BALEEN_PERMUTE; })) << "without destinations";
  EXPECT_TRUE(refuses([](Collective& c) { c.op = 99; }));
  EXPECT_TRUE(refuses([](Collective& c) { c.dtype = 99; }));
}

/// An item of such a list takes more memory than the byte that it needs to have been there.
TEST(ProposalCodec, TakesNoMoreMemoryForAListThanItsBytesAreWorth) {
  ProposalWriter writer;
  writer.number(100'000);
  writer.bytes.resize(100'008);
  ProposalReader reader{writer.bytes};
  std::vector<CollectiveEntry> entries;
  reader.list(entries, [&](CollectiveEntry& entry) {
    reader.number(entry.count);
    reader.number(entry.block);
  });
  EXPECT_FALSE(reader.whole);
  EXPECT_LE(entries.size(), 100'000u / 16 + 1);
}

}  // namespace
}  // namespace baleen::sdk
