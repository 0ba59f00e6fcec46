/// \file What two transports together owe beyond what each does: failures, memory, order, and how much may be started.
#include "counting.hpp"

namespace baleen::hierarchy {
namespace {

using test::expect;
using test::expect_contains;

constexpr double kLimit = 60;  // seconds, for what takes a fraction of one

baleen_collective_spec_t sum_of(const baleen_collective_entry_t& entry, baleen_dtype_t dtype = BALEEN_F32) {
  return {sizeof(baleen_collective_spec_t),
          BALEEN_ALL_REDUCE,
          BALEEN_SUM,
          dtype,
          0,
          &entry,
          1,
          nullptr,
          1,
          0,
          abi("a.lua:1")};
}

baleen_collective_spec_t barrier() {
  return {sizeof(baleen_collective_spec_t), BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, {}};
}

/// How a rank that only lives, and does nothing, waits for another to have seen what it should.
void await(const std::atomic<bool>& seen) {
  for (int ticks = 0; !seen && ticks < kLimit * 100; ++ticks) usleep(10'000);
}

// Nobody asks about the transport that has failed; whoever waits for the other is woken all the same.
TEST(Hierarchy, AFailureInsideEndsWhatWaitsBetween) {
  Ledger ledger;
  std::atomic<bool> seen = false;
  EXPECT_EQ(run_counted("aabb", ledger,
                        [&](CountedRank& rank) {
                          void* world = rank.world();
                          float value = 0;
                          const baleen_collective_entry_t entry{&value, &value, 1, 0, nullptr, nullptr};
                          const bool sends = rank.rank == 0 || rank.rank == 3;
                          if (!sends) return await(seen);
                          const baleen_collective_spec_t spec{sizeof spec,
                                                              rank.rank == 0 ? BALEEN_RECEIVE : BALEEN_SEND,
                                                              0,
                                                              BALEEN_F32,
                                                              3 - rank.rank,
                                                              &entry,
                                                              1,
                                                              nullptr,
                                                              1,
                                                              0,
                                                              {}};
                          void* slot = rank.prepare(world, spec);
                          if (rank.rank == 3) return await(seen);
                          baleen_event_t done{};
                          CountedRank::need(rank.transport->start(slot, nullptr, 0, &done, 1));
                          rank.inside->abort("the cable was cut");
                          expect(event_wait(done, 1, kLimit), "it still waits");
                          expect(event_value(done) == BALEEN_EVENT_FAILED, "it ended well");
                          const Status why = rank.transport->check();
                          expect(!why && why.error().code == BALEEN_PEER_LOST, "check() tells nothing");
                          expect_contains(why.error().text(), "the cable was cut");
                          seen = true;
                        }),
            "");
}

TEST(Hierarchy, AFailureBetweenEndsWhatWaitsInside) {
  Ledger ledger;
  std::atomic<bool> seen = false;
  EXPECT_EQ(run_counted("aabb", ledger,
                        [&](CountedRank& rank) {
                          void* host = CountedRank::need(rank.transport->group_create(
                              rank.rank < 2 ? std::vector<std::int32_t>{0, 1} : std::vector<std::int32_t>{2, 3}));
                          void* slot = rank.prepare(host, barrier());
                          if (rank.rank != 0) return await(seen);
                          baleen_event_t done{};
                          CountedRank::need(rank.transport->start(slot, nullptr, 0, &done, 1));
                          rank.between->abort("the cable was cut");
                          expect(event_wait(done, 1, kLimit), "it still waits");
                          expect_contains(rank.transport->check().error().text(), "the cable was cut");
                          seen = true;
                        }),
            "");
}

// Rank 3 is lost to its host; no rank may take a sum as whole that lacks it.
TEST(Hierarchy, ALossOnOneHostEndsTheOperationOnAllRanks) {
  Ledger ledger;
  EXPECT_EQ(run_counted("aabb", ledger,
                        [](CountedRank& rank) {
                          void* world = rank.world();
                          std::vector<float> data(100, 1);
                          const baleen_collective_entry_t entry{data.data(), data.data(), 100, 0, nullptr, nullptr};
                          void* slot = rank.prepare(world, sum_of(entry));
                          rank.run(slot);
                          if (rank.rank == 3) return;
                          baleen_event_t done{};
                          CountedRank::need(rank.transport->start(slot, nullptr, 0, &done, 1));
                          expect(event_wait(done, 1, kLimit), "it still waits");
                          expect(event_value(done) == BALEEN_EVENT_FAILED, "it ended well");
                          expect_contains(rank.transport->check().error().text(), "has left");
                        }),
            "");
}

TEST(Hierarchy, RanksInsideAHostAreExplained) {
  Ledger ledger;
  EXPECT_EQ(run_counted("aabb", ledger,
                        [](CountedRank& rank) {
                          void* world = rank.world();
                          void* slot = rank.prepare(world, barrier());
                          rank.run(slot);
                          if (rank.rank < 2) return;
                          rank.inside->abort("rank 1 has left");
                          expect_contains(
                              rank.transport->check().error().text(),
                              "rank 1 has left (inside a host ranks are counted from 0: these are ranks 2, 3)");
                        }),
            "");
}

TEST(Hierarchy, MemoryIsOfTheOneInsideAndKnownToTheOther) {
  Ledger ledger;
  EXPECT_EQ(run_counted("aab", ledger,
                        [](CountedRank& rank) {
                          expect(rank.transport->allocates() && rank.transport->registers(), "it offers both");
                          void* base = CountedRank::need(rank.transport->allocate(5000));
                          expect(rank.between->known[base] == 5000, "the transport between hosts does not know it");
                          rank.transport->release(base);
                          expect(rank.between->known.count(base) == 0, "it is still known");
                        }),
            "");
}

// More than both transports together take at a time, and one too many.
TEST(Hierarchy, AsManyOperationsAsTheContractSaysAreOutstanding) {
  Ledger ledger;
  EXPECT_EQ(run_counted("aab", ledger,
                        [](CountedRank& rank) {
                          void* world = rank.world();
                          std::vector<std::int64_t> data(3, 1);
                          const baleen_collective_entry_t entry{data.data(), data.data(), 3, 0, nullptr, nullptr};
                          void* sum = rank.prepare(world, sum_of(entry, BALEEN_I64));
                          void* turn = rank.prepare(world, barrier());
                          baleen_event_t go{}, done{};
                          const auto start = [&](void* slot, std::uint64_t value) {
                            return rank.transport->start(slot, &go, 1, &done, value);
                          };
                          for (std::uint64_t i = 0; i < BALEEN_MAX_OUTSTANDING; ++i)
                            CountedRank::need(start(i % 64 == 0 ? sum : turn, i + 1));
                          const Status more = start(turn, BALEEN_MAX_OUTSTANDING + 1);
                          expect(!more, "one more was accepted");
                          expect_contains(more.error().text(), "1024 operations are unfinished");
                          event_signal(go, 1);
                          expect(event_wait(done, BALEEN_MAX_OUTSTANDING, kLimit), "they do not end");
                          // 16 sums of three ranks: 3 to the 16th.
                          expect(data == std::vector<std::int64_t>(3, 43'046'721), "another sum");
                        }),
            "");
}

// What belongs to one transport alone keeps its turn behind what is not yet with the transports.
TEST(Hierarchy, DirectOperationsKeepTheirTurn) {
  Ledger ledger;
  EXPECT_EQ(run_counted("aaabbbccc", ledger,
                        [](CountedRank& rank) {
                          void* world = rank.world();
                          const std::int32_t first = rank.rank / 3 * 3;
                          void* host = CountedRank::need(rank.transport->group_create({first, first + 1, first + 2}));
                          std::vector<std::int64_t> data(40, 1);
                          const baleen_collective_entry_t entry{data.data(), data.data(), 40, 0, nullptr, nullptr};
                          void* all = rank.prepare(world, sum_of(entry, BALEEN_I64));
                          void* here = rank.prepare(host, sum_of(entry, BALEEN_I64));
                          baleen_event_t go{}, done{};
                          constexpr std::uint64_t kRounds = 600;
                          std::uint64_t expected = 1;  // odd factors: it never becomes 0
                          for (std::uint64_t i = 0; i < kRounds; ++i) {
                            const bool direct = i % 40 == 20;
                            CountedRank::need(rank.transport->start(direct ? here : all, &go, 1, &done, i + 1));
                            expected *= direct ? 3 : 9;
                          }
                          event_signal(go, 1);
                          expect(event_wait(done, kRounds, kLimit), "they do not end");
                          expect(static_cast<std::uint64_t>(data[39]) == expected, "another sum");
                        }),
            "");
}

// Exact in any order: hosts add first though they are no subtrees.
TEST(Hierarchy, SumsThatNeedNotBeDeterministicGoByHosts) {
  Ledger ledger;
  EXPECT_EQ(run_counted("abbbcc", ledger,
                        [](CountedRank& rank) {
                          std::vector<float> data(1000, static_cast<float>(rank.rank + 1));
                          const baleen_collective_entry_t entry{data.data(), data.data(), 1000, 0, nullptr, nullptr};
                          baleen_collective_spec_t spec = sum_of(entry);
                          spec.deterministic = 0;
                          rank.run(rank.prepare(rank.world(), spec));
                          expect(data == std::vector<float>(1000, 21), "1 to 6 are 21");
                          expect(rank.notes.empty(), "it explains what needs no words");
                        }),
            "");
  EXPECT_EQ(ledger.stayed, 0u);
}

TEST(Hierarchy, SaysOnceWhyASumDoesNotGoByHosts) {
  Ledger ledger;
  EXPECT_EQ(run_counted("abb", ledger,
                        [](CountedRank& rank) {
                          void* world = rank.world();
                          std::vector<float> data(10);
                          const baleen_collective_entry_t entry{data.data(), data.data(), 10, 0, nullptr, nullptr};
                          rank.prepare(world, sum_of(entry));
                          rank.prepare(world, sum_of(entry));
                          if (rank.rank != 0) return expect(rank.notes.empty(), "every rank says so");
                          expect(rank.notes.size() == 1, std::to_string(rank.notes.size()) + " notes");
                          expect_contains(rank.notes[0],
                                          "all_reduce of 10 fp32 at a.lua:1 is summed between all ranks, not by hosts "
                                          "first: its hosts' members are no subtrees of the deterministic sum");
                        }),
            "");
}

}  // namespace
}  // namespace baleen::hierarchy
