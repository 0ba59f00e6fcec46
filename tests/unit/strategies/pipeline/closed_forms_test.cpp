/// \file Tables against closed forms (Narayanan et al., arXiv 2104.04473; Qi et al., arXiv 2401.10241): makespan,
/// bubble and micro-batches in flight of every stage, exactly, for up to 16 ranks, 64 micro-batches and 4 chunks.
#include <gtest/gtest.h>

#include <functional>

#include "timing.hpp"

namespace baleen::pipeline {
namespace {

/// Times whose sums are exact in binary, chunks included: passes alike, and each longer than the others.
const std::vector<PassTimes> kTimes{{12, 12, 12}, {24, 24, 12}, {60, 48, 36}, {12, 36, 12}};
/// Gradients of weights that take longer than a forward pass: a rank has nothing else to fill a bubble with.
const PassTimes kLongWeights{12, 24, 24};

Table checked(Kind kind, const Extents& extents) {
  const Result<Table> table = make_table(kind, extents);
  EXPECT_TRUE(table) << (table ? "" : table.error().message);
  const Status legal = table ? check_table(*table) : Status();
  EXPECT_TRUE(legal) << legal.error().message;
  return table ? *table : Table{};
}

void for_each(const std::function<void(std::uint32_t p, std::uint32_t m)>& visit) {
  for (std::uint32_t p = 1; p <= 16; ++p)
    for (std::uint32_t m = 1; m <= 64; ++m) {
      SCOPED_TRACE(std::to_string(p) + " ranks, " + std::to_string(m) + " micro-batches");
      visit(p, m);
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(ClosedForms, GPipe) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    const Table table = checked(Kind::gpipe, {p, m, 1});
    for (const PassTimes& times : kTimes) EXPECT_EQ(time_table(table, times)->makespan, (m + p - 1) * times.all());
    for (const Actions& actions : table.ranks) EXPECT_EQ(peak_in_flight(actions), m);
  });
}

TEST(ClosedForms, OneForwardOneBackward) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    const Table table = checked(Kind::one_forward_one_backward, {p, m, 1});
    for (const PassTimes& times : kTimes) EXPECT_EQ(time_table(table, times)->makespan, (m + p - 1) * times.all());
    for (std::uint32_t r = 0; r < p; ++r) EXPECT_EQ(peak_in_flight(table.ranks[r]), std::min(m, p - r));
  });
}

TEST(ClosedForms, Interleaved) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    for (std::uint32_t v = 1; v <= 4; ++v) {
      if (m % p != 0) {
        EXPECT_FALSE(make_table(Kind::interleaved, {p, m, v}));
        continue;
      }
      const Table table = checked(Kind::interleaved, {p, m, v});
      for (const PassTimes& times : kTimes)
        EXPECT_EQ(time_table(table, times)->makespan, m * times.all() + (p - 1) * times.all() / v);
      for (std::uint32_t r = 0; r < p; ++r)
        EXPECT_EQ(peak_in_flight(table.ranks[r]), std::min(m * v, 2 * (p - 1 - r) + (v - 1) * p + 1));
    }
  });
}

/// As interleaved where there are as many micro-batches as ranks; fewer leave ranks idle between chunks.
TEST(ClosedForms, Looped) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    for (std::uint32_t v = 1; v <= 4 && m <= 24; ++v) {
      const Table table = checked(Kind::looped, {p, m, v});
      for (const PassTimes& times : kTimes)
        EXPECT_EQ(time_table(table, times)->makespan,
                  m >= p ? m * times.all() + (p - 1) * times.all() / v : ((v - 1) * p + m + p - 1) * times.all() / v);
      for (const Actions& actions : table.ranks) EXPECT_EQ(peak_in_flight(actions), m * v);
    }
  });
}

/// The cost of zero bubbles is the longest time of one rank, since ranks need not begin the update together.
double bubble(const Table& table, const PassTimes& times) {
  return time_table(table, times)->longest - table.extents.micro_batches * times.all();
}

TEST(ClosedForms, ZeroBubbleH1) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    const Table table = checked(Kind::zero_bubble_h1, {p, m, 1});
    for (const Actions& actions : table.ranks) EXPECT_EQ(peak_in_flight(actions), std::min(m, p));
    if (m < p) return;
    for (const PassTimes& t : kTimes) EXPECT_EQ(bubble(table, t), (p - 1) * (t.forward + t.backward - t.weights));
    // With p micro-batches in flight the first rank waits for the first backward pass in any order.
    EXPECT_EQ(bubble(table, kLongWeights), (p - 1) * kLongWeights.backward);
  });
}

TEST(ClosedForms, ZeroBubbleH2) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    const Table table = checked(Kind::zero_bubble_h2, {p, m, 1});
    for (const Actions& actions : table.ranks) EXPECT_EQ(peak_in_flight(actions), std::min(m, 2 * p - 1));
    if (m < 2 * p - 1) return;
    for (const PassTimes& t : kTimes)
      EXPECT_EQ(bubble(table, t), (p - 1) * std::max(0.0, t.forward + t.backward - 2 * t.weights));
  });
}

/// No bubble where passes take equal time, with as many activations as the first rank of 1F1B holds: 2p halves.
TEST(ClosedForms, ZeroBubbleV) {
  for_each([](std::uint32_t p, std::uint32_t m) {
    const Table table = checked(Kind::zero_bubble_v, {p, m, 2});
    for (const Actions& actions : table.ranks) EXPECT_LE(peak_in_flight(actions), std::min(2 * m, 2 * p));
    if (m < 2 * p - 1) return;
    EXPECT_EQ(bubble(table, kTimes[0]), 0);
    for (const Actions& actions : table.ranks) EXPECT_EQ(peak_in_flight(actions), 2 * p);
  });
}

/// What each rank does with a micro-batch is the same in all tables of one cut: sums have the same terms in one order.
TEST(ClosedForms, PassesTakeMicroBatchesInOneOrder) {
  for (const Kind kind : {Kind::gpipe, Kind::one_forward_one_backward, Kind::zero_bubble_h1, Kind::zero_bubble_h2})
    for (const Actions& actions : checked(kind, {4, 12, 1}).ranks)
      for (const baleen_pass_t pass : {BALEEN_PASS_FORWARD, BALEEN_PASS_BACKWARD, BALEEN_PASS_WEIGHT_GRADIENTS}) {
        std::uint32_t next = 0;
        for (const Action& action : actions) {
          if (action.pass != pass) continue;
          EXPECT_EQ(action.micro_batch, next++);
        }
      }
}

TEST(Tables, KnowTheRankOfEveryStage) {
  for (const Order order : {Order::round, Order::back})
    for (std::uint32_t p = 1; p <= 5; ++p)
      for (std::uint32_t v = 1; v <= 4; ++v) {
        std::vector<int> seen(p * v, 0);
        for (std::uint32_t rank = 0; rank < p; ++rank)
          for (std::uint32_t chunk = 0; chunk < v; ++chunk) {
            const std::uint32_t stage = stage_of(order, {p, 1, v}, rank, chunk);
            ASSERT_LT(stage, p * v);
            EXPECT_EQ(rank_of(order, {p, 1, v}, stage), rank);
            ++seen[stage];
          }
        EXPECT_EQ(seen, std::vector<int>(p * v, 1));
      }
  EXPECT_EQ(rank_of(Order::back, {4, 1, 2}, 4), 3u);  // the last rank has two stages that follow on
}

TEST(Tables, RefuseChunksThatTheyHaveNot) {
  EXPECT_NE(make_table(Kind::gpipe, {2, 4, 2}).error().message.find("leave it out"), std::string::npos);
  EXPECT_NE(make_table(Kind::zero_bubble_v, {2, 4, 3}).error().message.find("set chunks = 2"), std::string::npos);
  EXPECT_NE(make_table(Kind::interleaved, {4, 6, 2}).error().message.find("`micro_batches` of parallel.pipeline, to 8"),
            std::string::npos);
}

}  // namespace
}  // namespace baleen::pipeline
