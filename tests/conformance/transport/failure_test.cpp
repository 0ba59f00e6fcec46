/// \file Ends that nobody planned: abort, a rank that leaves, a rendezvous that fails, memory that is not there.
#include <sys/mman.h>

#include <atomic>
#include <new>
#include <thread>

#include "suite.hpp"

namespace baleen::conformance {
namespace {

/// What one rank tells another, be they threads or processes, by no way of the transport's.
class SharedFlag {
 public:
  SharedFlag() : memory_(mmap(nullptr, sizeof(Value), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no memory to share");
    new (memory_) Value(false);
  }
  ~SharedFlag() { munmap(memory_, sizeof(Value)); }
  SharedFlag(const SharedFlag&) = delete;

  std::atomic<bool>& get() { return *static_cast<Value*>(memory_); }
  void raise() { get() = true; }
  /// Lives on until the flag is raised, though not for ever.
  void await() {
    for (int ticks = 0; !get() && ticks < 30'000; ++ticks) usleep(1'000);
  }

 private:
  using Value = std::atomic<bool>;
  void* memory_;
};

/// Raises a flag when a rank's part is over, however it ends.
struct RaisedAtEnd {
  SharedFlag& flag;
  ~RaisedAtEnd() { flag.raise(); }
};

class Failure : public TransportSuite {};

baleen_collective_spec_t sum_of(const baleen_collective_entry_t& entry) {
  return {sizeof(baleen_collective_spec_t),
          BALEEN_ALL_REDUCE,
          BALEEN_SUM,
          BALEEN_F32,
          0,
          &entry,
          1,
          nullptr,
          1,
          0,
          abi("a.lua:1")};
}

// What waits for a peer, for an event, and behind these; rank 1 never comes.
TEST_P(Failure, AbortFailsAllThatIsUnfinished) {
  for (const std::uint64_t count : {4ull, 40'000ull}) {
    SharedFlag over;
    run(2, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> data(count);
      const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
      void* slot = rank.prepare(world, sum_of(entry));
      rank.run(slot);
      if (rank.rank == 0) {
        const RaisedAtEnd at_end{over};
        baleen_event_t never{}, waits_for_peer{}, waits_for_event{}, waits_behind{};
        rank.start(slot, nullptr, 0, &waits_for_peer, 1);
        rank.start(slot, &never, 1, &waits_for_event, 1);
        rank.start(slot, nullptr, 0, &waits_behind, 1);
        std::thread heartbeat([&] {
          usleep(20'000);
          rank.abort("rank 1 was killed by signal 9");
        });
        for (baleen_event_t* done : {&waits_for_peer, &waits_for_event, &waits_behind}) {
          event_wait(*done, 1);
          expect(event_value(*done) == BALEEN_EVENT_FAILED, "an operation ended well without its peer");
        }
        heartbeat.join();
        expect(rank.table.check(rank.get()) == BALEEN_PEER_LOST, "check() tells of a lost peer");
        expect_contains(rank.reason(), "rank 1 was killed by signal 9");
        expect(rank.table.start(rank.get(), slot, nullptr, 0, nullptr, 0) == BALEEN_PEER_LOST, "a later start fails");
        void* more = nullptr;
        const auto spec = sum_of(entry);
        expect(rank.table.prepare(rank.get(), world, &spec, &more) == BALEEN_PEER_LOST, "a later prepare fails");
      } else {
        over.await();  // it lives, and does not come
      }
    });
  }
}

TEST_P(Failure, AbortWakesAWaitForAnEventAlone) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    std::vector<float> data(4);
    const baleen_collective_entry_t entry{data.data(), data.data(), 4, 0, nullptr, nullptr};
    void* slot = rank.prepare(world, sum_of(entry));
    baleen_event_t never{}, done{};
    rank.start(slot, &never, 1, &done, 1);
    usleep(20'000);
    rank.abort("enough");
    event_wait(done, 1);
    expect(event_value(done) == BALEEN_EVENT_FAILED, "it ended well without its event");
  });
}

TEST_P(Failure, AbortWakesPrepareAndGroupCreate) {
  for (const bool group : {false, true}) {
    SharedFlag over;
    run(2, [&](Rank& rank) {
      void* world = rank.world();
      if (rank.rank == 1) return over.await();
      const RaisedAtEnd at_end{over};
      std::thread heartbeat([&] {
        usleep(20'000);
        rank.abort("rank 1 is silent");
      });
      std::vector<float> data(4);
      const baleen_collective_entry_t entry{data.data(), data.data(), 4, 0, nullptr, nullptr};
      const auto spec = sum_of(entry);
      const std::int32_t both[] = {0, 1};
      void* out = nullptr;
      const auto status = group ? rank.table.group_create(rank.get(), both, 2, &out)
                                : rank.table.prepare(rank.get(), world, &spec, &out);
      heartbeat.join();
      expect(status == BALEEN_PEER_LOST, "the call ended with status " + std::to_string(status));
      expect_contains(rank.host().failure(), "rank 1 is silent");
    });
  }
}

// As when an exception unwinds a run: nobody waits for the operations, and their events go with the stack.
TEST_P(Failure, AGroupMayGoWithUnfinishedOperations) {
  for (const std::uint64_t count : {4ull, 40'000ull}) {
    SharedFlag over;
    run(2, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> data(count);
      const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
      void* slot = rank.prepare(world, sum_of(entry));
      if (rank.rank == 1) return over.await();
      const RaisedAtEnd at_end{over};
      baleen_event_t never{}, done{};
      rank.start(slot, nullptr, 0, &done, 1);
      rank.start(slot, &never, 1, &done, 2);
      rank.table.group_destroy(rank.get(), world);
      event_wait(done, 2);
      expect(event_value(done) == BALEEN_EVENT_FAILED, "what was unfinished has not failed");
    });
  }
}

TEST_P(Failure, ARankThatLeavesIsNamed) {
  for (const std::uint64_t count : {4ull, 40'000ull}) {
    run(3, [&](Rank& rank) {
      void* world = rank.world();
      std::vector<float> data(count);
      const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
      void* slot = rank.prepare(world, sum_of(entry));
      rank.run(slot);
      if (rank.rank == 1) return;
      try {
        rank.run(slot);
      } catch (const std::runtime_error& e) {
        return expect_contains(e.what(), "has left");  // rank 1, or who left because of it
      }
      throw std::runtime_error("it ended well without rank 1");
    });
  }
}

TEST_P(Failure, ALastOperationIsWhole) {
  // A rank may leave as soon as its own part is done; the others still finish theirs.
  for (int round = 0; round < 20; ++round) {
    run(2, [&](Rank& rank) {
      void* world = rank.world();
      for (const std::uint64_t count : {4ull, 40'000ull}) {
        std::vector<float> data(count, 1);
        const baleen_collective_entry_t entry{data.data(), data.data(), count, 0, nullptr, nullptr};
        rank.run(rank.prepare(world, sum_of(entry)));
        expect(data == std::vector<float>(count, 2), "one and one");
      }
    });
  }
}

TEST_P(Failure, AFailingRendezvousEndsCreate) {
  test::SharedRendezvous rendezvous(GetParam().hosts);
  const std::string failures = test::run_bodies(GetParam().as, 3, [&](std::int32_t number) {
    if (number == 2) {
      usleep(50'000);
      return rendezvous.fail();
    }
    // Rank 0 need not wait for anyone in a transport that asks for little.
    try {
      Rank rank(plugin, rendezvous, number, 3, GetParam().options);
      rank.abort("it waited for nothing");
    } catch (const std::runtime_error&) {
      return;
    }
    expect(GetParam().as == As::kThreads, "it was created without rank 2");
  });
  EXPECT_EQ(failures, "");
}

/// The rendezvous of a rank that comes no further than some call of it, until the others have ended theirs.
struct Stalled {
  baleen_rendezvous_t inner;
  int calls;                  ///< that it still makes
  std::atomic<bool>* others;  ///< have ended; in memory that ranks share
  static constexpr int kLimit = 2'000;

  baleen_rendezvous_t view() {
    return {
        sizeof(baleen_rendezvous_t), this, inner.rank, inner.ranks, &put, &get, &over, inner.host_of, inner.address};
  }
  void stall() {
    if (--calls > 0) return;
    int ticks = 0;
    while (!*others && ++ticks < kLimit) usleep(10'000);
    expect(ticks < kLimit, "the others wait though the run is over");
  }
  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value) {
    auto& stalled = *static_cast<Stalled*>(self);
    const baleen_status_t status = stalled.inner.put(stalled.inner.self, key, value);
    stalled.stall();
    return status;
  }
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
    auto& stalled = *static_cast<Stalled*>(self);
    const std::int64_t bytes = stalled.inner.get(stalled.inner.self, key, value, capacity);
    stalled.stall();
    return bytes;
  }
  static std::int32_t over(void* self) {
    auto& stalled = *static_cast<Stalled*>(self);
    return stalled.inner.over(stalled.inner.self);
  }
};

TEST_P(Failure, ARunThatIsOverEndsCreateWhereverAPeerHasStopped) {
  SharedFlag others;
  std::atomic<bool>& ended = others.get();
  for (int calls = 1; calls <= 4; ++calls) {
    ended = false;
    test::SharedRendezvous rendezvous(GetParam().hosts);
    const std::string failures = test::run_bodies(GetParam().as, 3, [&](std::int32_t number) {
      Stalled stalled{rendezvous.of(number, 2), calls, &ended};
      if (number == 2) {
        usleep(50'000);
        return rendezvous.fail();
      }
      try {
        Rank rank(plugin, number == 1 ? stalled.view() : stalled.inner, GetParam().options);
      } catch (const std::runtime_error& e) {
        expect(std::string(e.what()).find("though the run is over") == std::string::npos, e.what());
      }
      if (number == 0) ended = true;
    });
    EXPECT_EQ(failures, "") << "stopped at call " << calls;
  }
}

TEST_P(Failure, TooMuchMemoryIsRefused) {
  run(2, [](Rank& rank) {
    void* base = nullptr;
    if (!rank.table.allocate) return expect(rank.table.register_arena, "it has no memory, and takes no other's");
    expect(rank.table.allocate(rank.get(), std::uint64_t{1} << 50, &base) == BALEEN_NO_MEMORY,
           "a pebibyte was allocated");
    expect_contains(rank.host().failure(), "an arena");
    rank.run(rank.prepare(rank.world(),
                          {sizeof(baleen_collective_spec_t), BALEEN_BARRIER, 0, 0, 0, nullptr, 0, nullptr, 0, 0, {}}));
  });
}

TEST_P(Failure, ReleasedArenasAreForgotten) {
  run(2, [](Rank& rank) {
    void* world = rank.world();
    for (int round = 0; round < 30; ++round) {
      std::byte* arena = arena_of(rank, 1 << 18);
      void* unused = rank.allocate(64);
      run_case(rank, world, static_cast<std::size_t>(rank.rank), case_of(BALEEN_ALL_REDUCE, BALEEN_F32, 2, {20'000}, 4),
               Memory::kArena, true, arena, 1);
      rank.release(unused);
      rank.release(arena);
    }
  });
}

BALEEN_TRANSPORT_SUITE(Failure);

}  // namespace
}  // namespace baleen::conformance
