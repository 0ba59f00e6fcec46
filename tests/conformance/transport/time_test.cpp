/// \file Starting is not waiting: many operations at once, conditions that come later, values that count up.
#include <cstring>

#include "suite.hpp"

namespace baleen::conformance {
namespace {

class Time : public TransportSuite {};

Case sum_of(Rank& rank, std::uint64_t count, std::uint64_t seed) {
  return case_of(BALEEN_ALL_REDUCE, BALEEN_F32, static_cast<std::size_t>(rank.ranks), {count}, seed);
}

// 40 operations wait for one event; the rank goes on. Their order is that of the starts, so the last is done last.
TEST_P(Time, ManyOperationsAreOutstanding) {
  run(3, [](Rank& rank) {
    void* world = rank.world();
    constexpr std::uint64_t kOperations = 40;
    std::byte* arena = arena_of(rank, kOperations << 17);
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (std::uint64_t i = 0; i < kOperations; ++i)
      exchanges.push_back(
          std::make_unique<Exchange>(rank, world, static_cast<std::size_t>(rank.rank), sum_of(rank, 1 + 400 * i, i),
                                     i % 3 == 0 ? Memory::kPrivate : Memory::kArena, i % 2 == 0, arena + (i << 17)));
    baleen_event_t ready{}, done{};
    for (std::uint64_t i = 0; i < kOperations; ++i) rank.start(exchanges[i]->slot(), &ready, i / 8 + 1, &done, i + 1);
    expect(event_value(done) == 0, "an operation was done before its event");
    for (std::uint64_t wave = 0; wave < kOperations / 8; ++wave) {
      expect(!event_wait(done, wave * 8 + 1, 0.005), "an operation was done before its event");
      event_signal(ready, wave + 1);
      rank.finish(done, wave * 8 + 8);
    }
    for (const auto& exchange : exchanges) exchange->verify();
  });
}

// The program of a rank does not wait for the slowest one.
TEST_P(Time, AStartDoesNotWaitForPeers) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::byte* arena = arena_of(rank, 1 << 20);
    Exchange small(rank, world, static_cast<std::size_t>(rank.rank), sum_of(rank, 3, 1), Memory::kArena, true, arena);
    Exchange large(rank, world, static_cast<std::size_t>(rank.rank), sum_of(rank, 60'000, 2), Memory::kArena, true,
                   arena + 4096);
    baleen_event_t done{}, go{};
    if (rank.rank == 1) {
      // Nobody else signals `go`: rank 1 comes only when its own thread has gone on.
      rank.start(small.slot(), &go, 1, &done, 1);
      rank.start(large.slot(), &go, 1, &done, 2);
      expect(!event_wait(done, 1, 0.1), "done without its condition");
      event_signal(go, 1);
    } else {
      rank.start(small.slot(), nullptr, 0, &done, 1);
      rank.start(large.slot(), nullptr, 0, &done, 2);
      expect(event_value(done) == 0, "done without rank 1");
    }
    rank.finish(done, 2);
    small.verify();
    large.verify();
  });
}

// A receive that waits holds up nothing behind it, as 1F1B needs.
TEST_P(Time, AWaitingReceiveHoldsUpNothing) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::vector<double> data(9'000, rank.rank == 0 ? 4.0 : 0.0);
    const baleen_collective_entry_t entry{data.data(), data.data(), data.size(), 0, nullptr, nullptr};
    const baleen_collective_spec_t spec{sizeof spec,
                                        rank.rank == 0 ? BALEEN_SEND : BALEEN_RECEIVE,
                                        0,
                                        BALEEN_F64,
                                        1 - rank.rank,
                                        &entry,
                                        1,
                                        nullptr,
                                        1,
                                        0,
                                        {}};
    void* pair = rank.prepare(world, spec);
    std::byte* arena = arena_of(rank, 1 << 20);
    Exchange all(rank, world, static_cast<std::size_t>(rank.rank), sum_of(rank, 2'500, 2), Memory::kArena, true, arena);
    baleen_event_t pair_done{}, all_done{};
    if (rank.rank == 1) rank.start(pair, nullptr, 0, &pair_done, 1);
    rank.start(all.slot(), nullptr, 0, &all_done, 1);
    rank.finish(all_done, 1);
    all.verify();
    if (rank.rank == 0) rank.start(pair, nullptr, 0, &pair_done, 1);
    rank.finish(pair_done, 1);
    expect(data == std::vector<double>(9'000, 4.0), "what rank 0 sent");
  });
}

// One slot, started again before its last run is done: runs follow each other.
TEST_P(Time, ASlotMayBeStartedAgainAtOnce) {
  run(4, [](Rank& rank) {
    void* world = rank.world();
    for (const std::uint64_t count : {2ull, 5'000ull, 90'000ull}) {
      std::vector<std::int64_t> data(count, 1);
      const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
      const baleen_collective_spec_t spec{sizeof spec, BALEEN_ALL_REDUCE, BALEEN_SUM, BALEEN_I64, 0, &entry,
                                          1,           nullptr,           1,          0,          {}};
      void* slot = rank.prepare(world, spec);
      baleen_event_t done{};
      for (std::uint64_t i = 1; i <= 20; ++i) rank.start(slot, nullptr, 0, i % 3 ? nullptr : &done, i);
      rank.start(slot, nullptr, 0, &done, 21);
      rank.finish(done, 21);
      expect(data == std::vector<std::int64_t>(count, std::int64_t{1} << 42), "four to the 21st");
    }
  });
}

TEST_P(Time, TooManyOutstandingAreRefused) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    const baleen_collective_spec_t spec{sizeof spec, BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, {}};
    void* slot = rank.prepare(world, spec);
    baleen_event_t go{}, done{};
    for (std::uint64_t i = 0; i < BALEEN_MAX_OUTSTANDING; ++i) rank.start(slot, &go, 1, &done, i + 1);
    try {
      rank.start(slot, &go, 1, &done, BALEEN_MAX_OUTSTANDING + 1);
      throw std::logic_error("one more was accepted");
    } catch (const std::runtime_error& e) {
      expect_contains(e.what(), "unfinished");
    }
    event_signal(go, 1);
    rank.finish(done, BALEEN_MAX_OUTSTANDING);
  });
}

BALEEN_TRANSPORT_SUITE(Time);

}  // namespace
}  // namespace baleen::conformance
