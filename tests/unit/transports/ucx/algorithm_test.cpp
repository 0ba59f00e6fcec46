/// \file Which algorithm answers which question.
#include "algorithm.hpp"

#include <gtest/gtest.h>

namespace baleen::ucx {
namespace {

using enum Algorithm;

Question all_reduce(std::size_t members, std::uint64_t bytes) { return {BALEEN_ALL_REDUCE, members, bytes}; }

Overrides overrides(const std::vector<std::string_view>& entries) { return *Overrides::parse(entries); }

TEST(Algorithm, SmallSumsTakeOneMessageAndLargeOnesMoveFewBytes) {
  EXPECT_EQ(choose(all_reduce(2, 8), {}), kDirect);
  EXPECT_EQ(choose(all_reduce(8, 8), {}), kDirect);
  EXPECT_EQ(choose(all_reduce(8, 16 << 10), {}), kRecursiveDoubling);
  EXPECT_EQ(choose(all_reduce(7, 16 << 10), {}), kPairwise);
  for (const std::size_t members : {2, 3, 8, 100}) EXPECT_EQ(choose(all_reduce(members, 1 << 24), {}), kPairwise);
}

TEST(Algorithm, HalvesAreNotRoundedOnTheWay) {
  Question q = all_reduce(8, 16 << 10);
  q.halves = true;
  EXPECT_EQ(choose(q, {}), kPairwise);
  EXPECT_EQ(choose(q, overrides({"all_reduce=recursive_doubling"})), kPairwise);
  q.deterministic = false;
  EXPECT_EQ(choose(q, overrides({"all_reduce=recursive_doubling"})), kRecursiveDoubling);
}

TEST(Algorithm, ManyMembersGatherSmallBlocksInFewMessages) {
  EXPECT_EQ(choose({BALEEN_ALL_GATHER, 8, 1000}, {}), kBruck);
  EXPECT_EQ(choose({BALEEN_ALL_GATHER, 8, 1 << 20}, {}), kPairwise);
  EXPECT_EQ(choose({BALEEN_ALL_TO_ALL, 8, 1000}, {}), kBruck);
  for (const baleen_collective_t op : {BALEEN_ALL_GATHER, BALEEN_ALL_TO_ALL}) {
    const Question on_device{.op = op, .members = 8, .bytes = 1000, .on_device = true};
    EXPECT_EQ(choose(on_device, {}), kPairwise) << "nothing is joined there";
  }
  EXPECT_EQ(choose({BALEEN_ALL_TO_ALL, 8, 1000, true, false, false}, {}), kPairwise);
  EXPECT_EQ(choose({BALEEN_BROADCAST, 8, 1000}, {}), kTree);
  EXPECT_EQ(choose({BALEEN_BROADCAST, 8, 1 << 20}, {}), kScatter);
}

TEST(Algorithm, AnOverrideIsTakenWhereItFits) {
  const Overrides ring = overrides({"all_reduce=ring", "all_gather=ring"});
  Question q = all_reduce(4, 1 << 20);
  EXPECT_EQ(choose(q, ring), kPairwise) << "the ring has another order of sums";
  q.deterministic = false;
  EXPECT_EQ(choose(q, ring), kRing);
  EXPECT_EQ(choose(all_reduce(2, 1 << 20), ring), kRing) << "two members have one order";
  EXPECT_EQ(choose({BALEEN_ALL_GATHER, 4, 1 << 20}, ring), kRing);
  EXPECT_EQ(choose({BALEEN_BROADCAST, 4, 1 << 20}, ring), kScatter);
  EXPECT_EQ(choose(all_reduce(4, 8), overrides({"all_reduce=halving_doubling"})), kHalvingDoubling);
  EXPECT_EQ(choose(all_reduce(6, 8), overrides({"all_reduce=halving_doubling"})), kDirect);
}

TEST(Algorithm, ObjectionsSayWhy) {
  EXPECT_EQ(objection(kHalvingDoubling, all_reduce(6, 8)), "needs a power of two of members, not 6");
  EXPECT_NE(objection(kRing, all_reduce(6, 8)), "");
  EXPECT_EQ(objection(kPairwise, all_reduce(6, 8)), "");
}

TEST(Algorithm, OverridesAreNamedExactly) {
  for (const std::string_view wrong :
       {"all_reduce", "all_reduce=", "all_reduce=bruck", "sum=ring", "=", "barrier=tree"}) {
    const auto parsed = Overrides::parse({wrong});
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_NE(parsed.error().message.find("`" + std::string(wrong) + "`"), std::string::npos);
    EXPECT_NE(parsed.error().message.find("all_reduce: direct recursive_doubling"), std::string::npos);
  }
  EXPECT_NE(overrides({"all_reduce=ring"}).text(), overrides({"all_gather=ring"}).text());
  EXPECT_EQ(overrides({"all_reduce=ring", "all_gather=bruck"}).text(),
            overrides({"all_gather=bruck", "all_reduce=ring"}).text());
}

}  // namespace
}  // namespace baleen::ucx
