/// \file Every operation with every dtype: counts 0, 1, odd; lists; in place or not; in arenas, elsewhere, and mixed;
/// two to eight ranks and groups of them.
#include "suite.hpp"

namespace baleen::conformance {
namespace {

class Collectives : public TransportSuite {};

constexpr std::uint64_t kArena = 24 << 20;

// Every way of laying out one case.
void every_way(Rank& rank, void* group, std::size_t place, const Case& c, std::byte* arena) {
  const auto answer = std::make_shared<const Answer>(c, place);
  for (const Memory memory : {Memory::kArena, Memory::kPrivate, Memory::kMixed}) {
    if (memory != Memory::kPrivate && !rank.table.allocate) continue;  // it has no arenas: all memory is alike
    for (const bool in_place : {false, true}) run_case(rank, group, place, c, memory, in_place, arena, 2, answer);
  }
}

void every_operation(Rank& rank, void* group, std::size_t place, std::size_t members,
                     const std::vector<std::uint64_t>& counts, std::byte* arena, std::uint64_t seed) {
  for (const baleen_dtype_t dtype : kDtypes)
    for (const baleen_collective_t op : kCollectives)
      every_way(rank, group, place, case_of(op, dtype, members, counts, ++seed), arena);
}

TEST_P(Collectives, AllOperationsAndDtypes) {
  for (const std::int32_t ranks : {2, 3, 5}) {
    run(ranks, [](Rank& rank) {
      std::byte* arena = arena_of(rank, kArena);
      const auto place = static_cast<std::size_t>(rank.rank), members = static_cast<std::size_t>(rank.ranks);
      void* world = rank.world();
      every_operation(rank, world, place, members, {0, 1, 17, 250}, arena, 10);
      every_operation(rank, world, place, members, {}, arena, 20);
      every_operation(rank, world, place, members, {0}, arena, 25);
      every_operation(rank, world, place, members, {1}, arena, 30);
      every_operation(rank, world, place, members, {3001, 0, 2, 7777}, arena, 40);
    });
  }
}

TEST_P(Collectives, LargeBuffers) {
  for (const std::int32_t ranks : {2, 4}) {
    run(ranks, [](Rank& rank) {
      std::byte* arena = arena_of(rank, kArena);
      void* world = rank.world();
      for (const baleen_collective_t op : kCollectives) {
        const auto c = case_of(op, BALEEN_F32, static_cast<std::size_t>(rank.ranks), {99'991, 5, 160'000}, 77);
        every_way(rank, world, static_cast<std::size_t>(rank.rank), c, arena);
      }
    });
  }
}

TEST_P(Collectives, EightRanksAndGroupsOfThem) {
  run(8, [](Rank& rank) {
    std::byte* arena = arena_of(rank, kArena);
    // All create in one global order those groups that they belong to.
    void* world = rank.world();
    const std::vector<std::vector<std::int32_t>> lists = {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4},
                                                          {1, 3, 5, 7}, {2},          {0, 6, 7}};
    std::vector<void*> groups;
    for (const auto& list : lists)
      groups.push_back(std::find(list.begin(), list.end(), rank.rank) == list.end() ? nullptr : rank.group(list));
    for (int round = 0; round < 2; ++round) {
      for (std::size_t g = 0; g < lists.size(); ++g) {
        if (!groups[g]) continue;
        const auto place = std::find(lists[g].begin(), lists[g].end(), rank.rank) - lists[g].begin();
        for (const baleen_collective_t op : kCollectives)
          run_case(rank, groups[g], static_cast<std::size_t>(place),
                   case_of(op, BALEEN_BF16, lists[g].size(), {4, 901, 30'000}, 5 + g), Memory::kMixed, round == 0,
                   arena, 1);
      }
      run_case(rank, world, static_cast<std::size_t>(rank.rank), case_of(BALEEN_ALL_REDUCE, BALEEN_F64, 8, {12'345}, 3),
               Memory::kArena, true, arena, 3);
    }
    for (void* group : groups)
      if (group) rank.table.group_destroy(rank.get(), group);
  });
}

TEST_P(Collectives, Maximum) {
  run(3, [](Rank& rank) {
    std::byte* arena = arena_of(rank, kArena);
    void* world = rank.world();
    for (const baleen_dtype_t dtype : kDtypes) {
      for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE, BALEEN_REDUCE_SCATTER}) {
        Case c = case_of(op, dtype, 3, {5, 10'001}, 9);
        c.reduction = BALEEN_MAXIMUM;
        every_way(rank, world, static_cast<std::size_t>(rank.rank), c, arena);
      }
    }
  });
}

TEST_P(Collectives, MaximumKeepsNaN) {
  run(4, [](Rank& rank) {
    void* world = rank.world();
    for (const std::uint64_t count : {3ull, 5'000ull}) {
      std::vector<float> values(count, static_cast<float>(rank.rank));
      values[1] = rank.rank == 2 ? std::numeric_limits<float>::quiet_NaN() : 1;
      const baleen_collective_entry_t entry{values.data(), values.data(), count, 0, nullptr, nullptr};
      const baleen_collective_spec_t spec{
          sizeof spec, BALEEN_ALL_REDUCE, BALEEN_MAXIMUM, BALEEN_F32, 0, &entry, 1, nullptr, 1, 0, {}};
      rank.run(rank.prepare(world, spec));
      expect(values[0] == 3 && values[1] != values[1] && values[2] == 3, "the largest of 0..3 and NaN");
    }
  });
}

// A broadcast whose root wants no output; a null pointer where nothing is given.
TEST_P(Collectives, PointersThatNobodyNeedsMayBeNull) {
  run(3, [](Rank& rank) {
    void* world = rank.world();
    for (const std::uint64_t count : {6ull, 5'000ull}) {
      std::vector<std::int32_t> values(count, rank.rank);
      const bool root = rank.rank == 1;
      const baleen_collective_entry_t entry{
          root ? values.data() : nullptr, root ? nullptr : values.data(), count, 0, nullptr, nullptr};
      const baleen_collective_spec_t spec{sizeof spec, BALEEN_BROADCAST, 0, BALEEN_I32, 1, &entry,
                                          1,           nullptr,          1, 0,          {}};
      rank.run(rank.prepare(world, spec));
      expect(values == std::vector<std::int32_t>(count, 1), "everyone has the root's values");
    }
  });
}

// Stages of a pipeline: each sends on to the next and back, several slots at once, in the order that would block a
// transport whose sends wait.
TEST_P(Collectives, SendAndReceive) {
  run(4, [](Rank& rank) {
    void* world = rank.world();
    auto* arena = reinterpret_cast<std::int32_t*>(arena_of(rank, 32 << 20));
    const std::int32_t next = (rank.rank + 1) % rank.ranks, last = (rank.rank + rank.ranks - 1) % rank.ranks;
    for (const std::uint64_t count : {0ull, 1ull, 1'000ull, 100'001ull}) {
      for (const bool shared : {true, false}) {
        std::vector<std::int32_t> own(shared ? 0 : 2 * count + 2);
        std::int32_t* out = shared ? arena : own.data();
        std::int32_t* in = out + count;
        const auto prepare = [&](baleen_collective_t op, std::int32_t peer, std::int32_t* data) {
          const baleen_collective_entry_t entries[] = {
              {data, data, count / 2, 0, nullptr, nullptr},
              {data + count / 2, data + count / 2, count - count / 2, 0, nullptr, nullptr}};
          const baleen_collective_spec_t spec{sizeof spec, op, 0, BALEEN_I32, peer, entries, 2, nullptr, 1, 0, {}};
          return rank.prepare(world, spec);
        };
        // Pairs prepare in one order on both sides: even ranks send first.
        void *send = nullptr, *receive = nullptr;
        if (rank.rank % 2 == 0) send = prepare(BALEEN_SEND, next, out);
        receive = prepare(BALEEN_RECEIVE, last, in);
        if (rank.rank % 2 == 1) send = prepare(BALEEN_SEND, next, out);
        for (std::int32_t round = 0; round < 3; ++round) {
          for (std::uint64_t i = 0; i < count; ++i)
            out[i] = rank.rank * 1'000'000 + round * 100'000 + static_cast<std::int32_t>(i);
          baleen_event_t sent{}, received{};
          rank.start(send, nullptr, 0, &sent, 1);
          rank.start(receive, nullptr, 0, &received, 1);
          rank.finish(received, 1);
          rank.finish(sent, 1);
          for (std::uint64_t i = 0; i < count; ++i)
            expect(in[i] == last * 1'000'000 + round * 100'000 + static_cast<std::int32_t>(i),
                   "what the last rank sent");
        }
      }
    }
  });
}

TEST_P(Collectives, BarrierWaitsForAll) {
  run(3, [](Rank& rank) {
    void* world = rank.world();
    const baleen_collective_spec_t spec{sizeof spec, BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, {}};
    void* slot = rank.prepare(world, spec);
    for (int i = 0; i < 100; ++i) rank.run(slot);
    // The last rank comes only when the others were seen to wait.
    void* turn = rank.prepare(world, spec);
    baleen_event_t done{};
    if (rank.rank != 2) {
      rank.start(slot, nullptr, 0, &done, 1);
      expect(!event_wait(done, 1, 0.05), "a barrier was passed without rank 2");
    } else {
      usleep(200'000);
      rank.start(slot, nullptr, 0, &done, 1);
    }
    rank.finish(done, 1);
    rank.run(turn);
  });
}

BALEEN_TRANSPORT_SUITE(Collectives);

}  // namespace
}  // namespace baleen::conformance
