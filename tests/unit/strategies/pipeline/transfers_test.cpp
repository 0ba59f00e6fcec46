/// \file What tables leave of transfers' time, against what can be reckoned by hand.
#include <gtest/gtest.h>

#include "transfers.hpp"

namespace baleen::pipeline {
namespace {

using Posted = Transfers::Posted;

constexpr Kind kAll[] = {Kind::gpipe,          Kind::one_forward_one_backward, Kind::interleaved,  Kind::looped,
                         Kind::zero_bubble_h1, Kind::zero_bubble_h2,           Kind::zero_bubble_v};

Table table_of(Kind kind, std::uint32_t ranks, std::uint32_t micro_batches) {
  const bool chunks = kind == Kind::interleaved || kind == Kind::looped || kind == Kind::zero_bubble_v;
  auto table = make_table(kind, {ranks, micro_batches, chunks ? 2u : 1u});
  EXPECT_TRUE(table);
  return *std::move(table);
}

double makespan(const Table& table, const PassTimes& times, const Transfers& transfers) {
  const auto timing = time_with_transfers(table, times, transfers);
  EXPECT_TRUE(timing);
  return timing ? timing->makespan : -1;
}

TEST(Transfers, ThatTakeNoTimeLeaveATableAsItIs) {
  const PassTimes times{2, 3, 1};
  for (const Kind kind : kAll)
    for (const auto& [ranks, micro_batches] : {std::pair{2u, 8u}, std::pair{4u, 8u}, std::pair{3u, 12u}}) {
      const Table table = table_of(kind, ranks, micro_batches);
      const auto plain = time_table(table, times);
      ASSERT_TRUE(plain);
      for (const Posted posted : {Posted::at_once, Posted::one_ahead})
        EXPECT_DOUBLE_EQ(makespan(table, times, {0, true, posted}), plain->makespan) << static_cast<int>(kind);
    }
}

/// All forward passes, then all backward passes: the first transfer forward and the first one back are waited for.
TEST(Transfers, OfGPipeCostOneEachWay) {
  const PassTimes times{1, 1, 1};
  for (const std::uint32_t ranks : {2u, 4u})
    for (const double time : {0.1, 0.5, 1.0}) {
      const Table table = table_of(Kind::gpipe, ranks, 8);
      EXPECT_NEAR(makespan(table, times, {time, true, Posted::at_once}),
                  makespan(table, times, {0, true, Posted::at_once}) + 2 * (ranks - 1) * time, 1e-9);
    }
  const Table table = table_of(Kind::gpipe, 2, 8);
  EXPECT_NEAR(*hidden_share(table, times, {0.5, true, Posted::at_once}), 1 - 2.0 / 8, 1e-9);
}

/// Two ranks of 1F1B have two micro-batches on their way: a round trip has no slack, and costs two transfers for each
/// but the last of the pairs.
TEST(Transfers, OfOneForwardOneBackwardHideNothing) {
  const PassTimes times{1, 1, 1};
  for (const std::uint32_t micro_batches : {4u, 8u, 16u}) {
    const Table table = table_of(Kind::one_forward_one_backward, 2, micro_batches);
    const double share = *hidden_share(table, times, {0.1, true, Posted::at_once});
    EXPECT_LT(share, 0.05) << micro_batches;
    EXPECT_LE(*hidden_share(table, times, {0.1, false, Posted::one_ahead}), share + 1e-9) << micro_batches;
  }
}

/// Programs ask for what they receive an action ahead: as good as asking for everything at once, as long as a transfer
/// takes no longer than a pass.
TEST(Transfers, AreAskedForEarlyEnough) {
  for (const Kind kind : kAll)
    for (const std::uint32_t ranks : {2u, 4u}) {
      const Table table = table_of(kind, ranks, 8);
      const double pass = 1.0 / table.extents.chunks;
      for (const double time : {0.1 * pass, 0.25 * pass}) {
        const double once = makespan(table, {}, {time, false, Posted::at_once});
        EXPECT_LE(makespan(table, {}, {time, false, Posted::one_ahead}), 1.01 * once) << static_cast<int>(kind);
      }
    }
}

/// More micro-batches on their way than ranks leave time for the way there and back.
TEST(Transfers, OfH2Hide) {
  const PassTimes times{1, 1, 1};
  const Table h1 = table_of(Kind::zero_bubble_h1, 2, 8), h2 = table_of(Kind::zero_bubble_h2, 2, 8);
  const Transfers transfers{0.2, true, Posted::at_once};
  EXPECT_GT(*hidden_share(h2, times, transfers), 0.7);
  EXPECT_LT(*hidden_share(h1, times, transfers), *hidden_share(h2, times, transfers));
}

/// But for a little: where two wait for a link, the first come need not be the one that is waited for.
TEST(Transfers, CostNoLessWithOneLinkOrLaterRequests) {
  const PassTimes times{1, 1.2, 0.8};
  for (const Kind kind : kAll) {
    const Table table = table_of(kind, 4, 8);
    for (const double time : {0.05, 0.3, 2.0}) {
      const double most = makespan(table, times, {time, true, Posted::at_once});
      EXPECT_GE(makespan(table, times, {time, false, Posted::at_once}), 0.97 * most) << static_cast<int>(kind);
      EXPECT_GE(makespan(table, times, {time, true, Posted::one_ahead}), 0.97 * most) << static_cast<int>(kind);
    }
  }
}

}  // namespace
}  // namespace baleen::pipeline
