/// \file Captures are replayed where all members of each group have the same, and nowhere else.
#include "ballot.hpp"

#include <gtest/gtest.h>

namespace baleen::nccl {
namespace {

Ballot ballot(std::vector<std::uint64_t> world, std::vector<std::uint64_t> pair = {}) {
  Ballot made;
  if (!world.empty()) made.groups["group 0"] = {{0, 1, 2}, std::move(world)};
  if (!pair.empty()) made.groups["group 7"] = {{0, 2}, std::move(pair)};
  return made;
}

TEST(NcclBallot, AgreesWhereAllMembersHaveTheSame) {
  const Outcome all = outcome_of({ballot({3, 4}, {1}), ballot({3, 4}), ballot({3, 4}, {1})});
  EXPECT_TRUE(all.agreed);
  EXPECT_EQ(all.why, "");
}

TEST(NcclBallot, HasNothingToSayOfNothing) {
  const Outcome none = outcome_of({{}, {}, {}});
  EXPECT_FALSE(none.agreed);
  EXPECT_EQ(none.why, "");
}

TEST(NcclBallot, OneThatLacksSomethingRefusesForAll) {
  const Outcome lacks = outcome_of({ballot({3, 4}), ballot({}), ballot({3, 4})});
  EXPECT_FALSE(lacks.agreed);
  EXPECT_EQ(lacks.why, "rank 0 has captured 2 collectives of group 0, and rank 1 none");
  EXPECT_FALSE(outcome_of({ballot({3}), ballot({3}), ballot({3}, {1})}).agreed) << "a group of which one has nothing";
  EXPECT_FALSE(outcome_of({ballot({3}), ballot({4}), ballot({3})}).agreed) << "as many, but others";
}

TEST(NcclBallot, RefusesAMemberThatIsNoRank) {
  EXPECT_FALSE(outcome_of({ballot({3}), ballot({3})}).agreed);
  Ballot odd;
  odd.groups["group 1"] = {{-5, 0}, {1}};
  EXPECT_FALSE(outcome_of({odd}).agreed);
}

TEST(NcclBallot, IsWholeOrNone) {
  const std::string bytes = encode(ballot({3, 4}, {1}));
  const auto again = ballot_from(bytes, 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(encode(*again), bytes);
  EXPECT_EQ(again->collectives(), 3u);
  for (const std::string& bad : {bytes.substr(1), bytes.substr(0, bytes.size() - 1), bytes + "x"}) {
    const auto read = ballot_from(bad, 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "nccl: a ballot of rank 1 makes no sense; do all ranks run the same version?");
  }
  const auto outcome = outcome_from(encode(Outcome{false, "rank 2 none"}), 0);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->agreed);
  EXPECT_EQ(outcome->why, "rank 2 none");
  EXPECT_FALSE(outcome_from("x", 0));
}

}  // namespace
}  // namespace baleen::nccl
