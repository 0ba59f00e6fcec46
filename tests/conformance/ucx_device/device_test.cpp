/// \file Collectives in arenas of devices: the bits of the contract, and no byte of them touched by the processor,
/// which the emulated device closes its memory to.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "device_run.hpp"

namespace baleen::conformance {
namespace {

class UcxDevice : public testing::TestWithParam<const char*> {
 protected:
  test::RankOptions options() const {
    const std::string tls = GetParam();
    return tls.empty() ? test::RankOptions() : test::RankOptions{{"tls", tls}};
  }
};
INSTANTIATE_TEST_SUITE_P(Over, UcxDevice, testing::Values("", "tcp", "posix\ncma"), [](const auto& over) {
  const std::string tls = over.param;
  return tls.empty() ? "anything" : tls.substr(0, tls.find('\n'));
});

/// Short buffers beside long ones, which are packed in the host's memory and must not be here.
TEST_P(UcxDevice, WhatMovesHasTheBitsOfTheContract) {
  for (const std::int32_t ranks : {2, 3, 5})
    EXPECT_EQ(run_devices(
                  ranks,
                  [](Rank& rank) {
                    Arena arena(rank, 24 << 20);
                    void* world = rank.world();
                    std::uint64_t seed = 0;
                    for (const auto& counts :
                         std::vector<std::vector<std::uint64_t>>{{1}, {0, 1, 250, 20'001, 3}, {700'001, 5}})
                      for (const baleen_collective_t op : kMoving) {
                        const Case c = case_of(op, BALEEN_F32, static_cast<std::size_t>(rank.ranks), counts, ++seed);
                        OnDevice on_device(rank, world, c, arena);
                        for (int run = 0; run < 2; ++run) on_device.expect_answer(name_of(c));
                      }
                  },
                  options()),
              "")
        << ranks << " ranks";
}

/// Overrides that fit go on; what would join messages is not used.
TEST(UcxDeviceAlgorithms, HaveTheSameBits) {
  for (const char* algorithms :
       {"all_gather=ring\nbroadcast=scatter", "all_gather=bruck\nall_to_all=bruck", "broadcast=tree"})
    EXPECT_EQ(run_devices(5,
                          [](Rank& rank) {
                            Arena arena(rank, 8 << 20);
                            void* world = rank.world();
                            for (const baleen_collective_t op : kMoving) {
                              const Case c = case_of(op, BALEEN_F32, 5, {50'001, 3, 11}, 4);
                              OnDevice(rank, world, c, arena).expect_answer(name_of(c));
                            }
                          },
                          {{"algorithm", algorithms}}),
              "")
        << algorithms;
}

TEST_P(UcxDevice, InPlaceNothingIsLost) {
  constexpr std::uint64_t kCount = 600'000;
  EXPECT_EQ(run_devices(
                3,
                [](Rank& rank) {
                  Arena arena(rank, 4 << 20);
                  void* world = rank.world();
                  const auto r = static_cast<std::uint64_t>(rank.rank);
                  const std::vector<baleen_collective_entry_t> gathered{
                      {arena.at(r * kCount), arena.at(0), 3 * kCount, kCount, nullptr, nullptr}};
                  void* const gather = rank.prepare(world, bytes_spec(BALEEN_ALL_GATHER, gathered));
                  const std::int32_t next[] = {1, 2, 0};
                  const std::vector<baleen_collective_entry_t> turned{
                      {arena.at(0), arena.at(0), kCount, 0, nullptr, nullptr}};
                  void* const turn = rank.prepare(world, bytes_spec(BALEEN_PERMUTE, turned, 0, next));
                  for (std::uint64_t run = 0; run < 3; ++run) {
                    arena.put(r * kCount, numbered(rank.rank, run, kCount));
                    arena.run(gather);
                    for (std::int32_t m = 0; m < 3; ++m)
                      expect(arena.get(static_cast<std::uint64_t>(m) * kCount, kCount) == numbered(m, run, kCount),
                             "what is gathered is wrong");
                    arena.put(0, numbered(rank.rank, run + 50, kCount));
                    arena.run(turn);
                    expect(arena.get(0, kCount) == numbered((rank.rank + 2) % 3, run + 50, kCount),
                           "the turn is wrong");
                  }
                },
                options()),
            "");
}

/// Sends and receives, each way; the message is read when the stream has made it, and not before.
TEST_P(UcxDevice, AMessageIsWhatTheStreamHasMade) {
  constexpr std::uint64_t kCount = 3 << 20;
  EXPECT_EQ(run_devices(
                2,
                [](Rank& rank) {
                  Arena arena(rank, 8 << 20);
                  void* world = rank.world();
                  const std::vector<baleen_collective_entry_t> out{{arena.at(0), nullptr, kCount, 0, nullptr, nullptr}},
                      in{{nullptr, arena.at(kCount), kCount, 0, nullptr, nullptr}};
                  const auto peer = 1 - rank.rank;
                  const auto prepare = [&](bool sends) {
                    return rank.prepare(
                        world, sends ? bytes_spec(BALEEN_SEND, out, peer) : bytes_spec(BALEEN_RECEIVE, in, peer));
                  };
                  const bool first = rank.rank == 0;
                  void *const one = prepare(first), *const other = prepare(!first);
                  for (std::uint64_t run = 0; run < 5; ++run) {
                    const Bytes bytes = numbered(rank.rank, run, kCount);
                    for (void* slot : {one, other}) {
                      const bool sends = (slot == one) == first;
                      if (sends) arena.enqueue(0, bytes);
                      arena.run(slot);
                      if (!sends) expect(arena.get(kCount, kCount) == numbered(peer, run, kCount), "another message");
                    }
                  }
                },
                options()),
            "");
}

/// Also from one that has never spoken to the device, and does a short operation itself.
TEST(UcxDeviceThreads, OfAnyKindMayStart) {
  constexpr std::uint64_t kCount = 1000;
  EXPECT_EQ(run_devices(2,
                        [](Rank& rank) {
                          Arena arena(rank, 1 << 20);
                          const auto r = static_cast<std::uint64_t>(rank.rank);
                          const std::vector<baleen_collective_entry_t> entries{
                              {arena.at(r * kCount), arena.at(0), 2 * kCount, kCount, nullptr, nullptr}};
                          void* const gather = rank.prepare(rank.world(), bytes_spec(BALEEN_ALL_GATHER, entries));
                          arena.put(r * kCount, numbered(rank.rank, 1, kCount));
                          baleen_event_t done{};
                          std::thread([&] { rank.start(gather, nullptr, 0, &done, 1); }).join();
                          rank.finish(done, 1);
                          expect(arena.get(0, kCount) == numbered(0, 1, kCount) &&
                                     arena.get(kCount, kCount) == numbered(1, 1, kCount),
                                 "what is gathered is wrong");
                        }),
            "");
}

/// Some members have their buffers in a device's memory and others in the host's, in the transport's arenas or not.
TEST_P(UcxDevice, MembersNeedNotBeAlike) {
  EXPECT_EQ(run_devices(
                3,
                [](Rank& rank) {
                  Arena arena(rank, 8 << 20);
                  std::byte* const shared = arena_of(rank, 8 << 20);
                  void* world = rank.world();
                  std::uint64_t seed = 0;
                  for (const auto& counts : std::vector<std::vector<std::uint64_t>>{{1, 4, 300}, {150'001, 7}})
                    for (const baleen_collective_t op : kMoving)
                      for (std::int32_t device = 0; device < 3; ++device) {
                        const Case c = case_of(op, BALEEN_F32, 3, counts, ++seed);
                        if (rank.rank == device)
                          OnDevice(rank, world, c, arena).expect_answer(name_of(c));
                        else
                          run_case(rank, world, static_cast<std::size_t>(rank.rank), c, Memory::kMixed, false, shared,
                                   1);
                      }
                },
                options()),
            "");
}

/// Barriers, and collectives of the host's memory beside them, are what they were.
TEST(UcxDeviceBeside, TheHostsMemoryIsTakenAsEver) {
  EXPECT_EQ(run_devices(3,
                        [](Rank& rank) {
                          Arena arena(rank, 4 << 20);
                          std::byte* const shared = arena_of(rank, 8 << 20);
                          void* world = rank.world();
                          for (const baleen_collective_t op : kCollectives) {
                            const Case c = case_of(op, BALEEN_F32, 3, {20'001, 9}, 3);
                            run_case(rank, world, static_cast<std::size_t>(rank.rank), c, Memory::kArena, false,
                                     shared);
                          }
                          const std::vector<baleen_collective_entry_t> none;
                          arena.run(rank.prepare(world, bytes_spec(BALEEN_BARRIER, none)));
                        }),
            "");
}

TEST(UcxDeviceSums, AreRefusedInWords) {
  const std::string text = run_devices(2, [](Rank& rank) {
    Arena arena(rank, 1 << 20);
    void* world = rank.world();
    OnDevice(rank, world, case_of(BALEEN_ALL_REDUCE, BALEEN_F32, 2, {100}, 3), arena);
  });
  EXPECT_NE(text.find("rank 0 refuses: ucx: the host's processor makes sums, and a buffer lies in a device's memory"),
            std::string::npos)
      << text;
}

/// All that others wait for is over when a rank has died, and nothing touches the memory any more.
TEST_P(UcxDevice, IsFreeWhenARankHasDied) {
  const auto body = [](Rank& rank) {
    auto arena = std::make_unique<Arena>(rank, 16 << 20);
    void* world = rank.world();
    const OnDevice gather(rank, world, case_of(BALEEN_ALL_GATHER, BALEEN_F32, 3, {900'001}, 5), *arena);
    arena->run(gather.slot());
    if (rank.rank == 1) {
      usleep(100'000);
      kill(getpid(), SIGKILL);
    }
    baleen_event_t done{};
    expect(rank.table.start(rank.get(), gather.slot(), nullptr, 0, &done, 1) == BALEEN_OK, "it has not begun");
    expect(event_wait(done, 1, 20.0) && event_value(done) == BALEEN_EVENT_FAILED, "no failure");
    expect_contains(rank.reason(), "rank 1");
    rank.table.group_destroy(rank.get(), world);
    arena.reset();  // whoever touches it now crashes
    usleep(100'000);
  };
  signal(SIGCHLD, SIG_IGN);  // a process that nobody has waited for counts as alive
  const std::string text = run_devices(3, body, options());
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace baleen::conformance
