/// \file The bits of a message's name.
#include "tag.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace baleen::ucx {
namespace {

TEST(Tag, ComesBackFromItsBits) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const Tag tag{random() % 2 == 0,        random() % Tag::kGroups, random() % Tag::kSlots,
                  random() % Tag::kMembers, random() % 2 == 0,       random() % (1u << Tag::kMessageBits)};
    const Tag same = Tag::of(tag.bits());
    EXPECT_EQ(same.pair, tag.pair) << "seed " << seed;
    EXPECT_EQ(same.group, tag.group) << "seed " << seed;
    EXPECT_EQ(same.slot, tag.slot) << "seed " << seed;
    EXPECT_EQ(same.source, tag.source) << "seed " << seed;
    EXPECT_EQ(same.taken, tag.taken) << "seed " << seed;
    EXPECT_EQ(same.message, tag.message) << "seed " << seed;
  }
}

TEST(Tag, EveryFieldTellsMessagesApart) {
  const std::set<std::uint64_t> all = {Tag{}.bits(),
                                       Tag{true, 0, 0, 0, false, 0}.bits(),
                                       Tag{false, 1, 0, 0, false, 0}.bits(),
                                       Tag{false, 0, 1, 0, false, 0}.bits(),
                                       Tag{false, 0, 0, 1, false, 0}.bits(),
                                       Tag{false, 0, 0, 0, false, 1}.bits(),
                                       Tag{false, 0, 0, 0, true, 0}.bits(),
                                       Tag{false, Tag::kGroups - 1, 0, 0, false, 0}.bits(),
                                       Tag{false, 0, Tag::kSlots - 1, 0, false, 0}.bits(),
                                       Tag{false, 0, 0, Tag::kMembers - 1, false, 0}.bits()};
  EXPECT_EQ(all.size(), 10u);
}

TEST(Tag, OfAMembersMessagesInAGroupIsAlikeButForSlotAndNumber) {
  const auto of_member = [](const Tag& tag) { return tag.bits() & Tag::kOfMember; };
  const Tag tag{false, 3, 5, 7, false, 2};
  EXPECT_EQ(of_member(tag), of_member({false, 3, Tag::kSlots - 1, 7, true, 99}));
  EXPECT_NE(of_member(tag), of_member({true, 3, 5, 7, false, 2}));
  EXPECT_NE(of_member(tag), of_member({false, 4, 5, 7, false, 2}));
  EXPECT_NE(of_member(tag), of_member({false, 3, 5, 8, false, 2}));
}

// A buffer of terabytes has more messages than there are numbers; they come round without touching other fields.
TEST(Tag, NumbersOfMessagesWrapAround) {
  const Tag first{false, 3, 5, 7, false, 2};
  Tag later = first;
  later.message += std::uint64_t{1} << Tag::kMessageBits;
  EXPECT_EQ(later.bits(), first.bits());
}

}  // namespace
}  // namespace baleen::ucx
