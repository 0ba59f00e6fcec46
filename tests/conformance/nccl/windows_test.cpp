/// \file Memory of NCCL's own and windows in it: where members' buffers lie alike, and never else.
#include <unistd.h>

#include "conformance/transport/device_arena.hpp"
#include "nccl_run.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::conformance {
namespace {

constexpr std::uint64_t kBytes = 4 << 20;

/// A variable of the environment while it lives.
struct Set {
  const char* name;
  Set(const char* given, const std::string& value) : name(given) { setenv(name, value.c_str(), 1); }
  ~Set() { unsetenv(name); }
  Set(const Set&) = delete;
};

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

std::string logged(const Rank& rank) {
  std::string all;
  for (const std::string& line : rank.host().logged()) all += line + "\n";
  return all;
}

/// What the double was asked for by all ranks, and what went wrong on them.
struct Outcome {
  std::string failures, asked;
  std::size_t windows() const { return count_of("window of ", asked); }
};
const test::RankOptions kWindows{{"windows", "true"}};
Outcome run_logged(std::int32_t ranks, const std::function<void(Rank&)>& body,
                   const test::RankOptions& more = kWindows) {
  const test::TemporaryFolder folder;
  const Set log("NCCL_DOUBLE_LOG", folder / "asked");
  Outcome outcome;
  outcome.failures = run_nccl(
      ranks,
      [&](Rank& rank) {
        body(rank);
        // Memory goes in order: no registration or window is left.
        const std::string told = logged(rank);
        expect(told.find("ncclMemFree") == told.npos, told);
      },
      more);
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    outcome.asked += test::read_file(folder / ("asked." + std::to_string(rank)));
  EXPECT_EQ(count_of("destroyed with windows", outcome.asked), 0u) << outcome.asked;
  return outcome;
}

/// Buffers that lie alike on three members where they begin alike; of integers, whose sums have one result.
Case alike_case(baleen_collective_t op, std::uint64_t seed = 3) {
  const std::vector<std::uint64_t> counts =
      op == BALEEN_ALL_TO_ALL ? std::vector<std::uint64_t>{4, 250, 20'000} : std::vector<std::uint64_t>{3, 252, 20'001};
  return case_of(op, BALEEN_I32, 3, counts, seed);
}
constexpr baleen_collective_t kAlike[] = {BALEEN_ALL_REDUCE, BALEEN_REDUCE_SCATTER, BALEEN_ALL_GATHER,
                                          BALEEN_ALL_TO_ALL};

void expect_sum(Rank& rank, void* group, Arena& arena, std::uint64_t at = 0) {
  OnDevice(rank, group, alike_case(BALEEN_ALL_REDUCE), arena, at).expect_answer("sum at " + std::to_string(at));
}

TEST(NcclWindows, MemoryOfNcclIsZeroed) {
  EXPECT_EQ(run_logged(1,
                       [](Rank& rank) {
                         Arena arena(rank, 100'000, Of::kTransport);
                         expect(arena.get(0, 100'000) == Bytes(100'000), "it is not zeroed");
                       })
                .failures,
            "");
}

/// Every group has a communicator of its own.
TEST(NcclWindows, AreMadeOnceForEachCommunicatorThatUsesThem) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    Arena arena(rank, kBytes, Of::kTransport), unused(rank, kBytes, Of::kTransport);
    void *world = rank.world(), *again = rank.world();
    for (void* group : {world, again})
      for (const baleen_collective_t op : kAlike)
        OnDevice(rank, group, alike_case(op), arena).expect_answer(name_of(alike_case(op)));
    rank.world();  // without collectives
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(count_of("window of " + std::to_string(kBytes), outcome.asked), 3u * 2u) << outcome.asked;
  EXPECT_EQ(outcome.windows(), 3u * 2u);
  EXPECT_EQ(count_of("a window ends", outcome.asked), 3u * 2u);
}

/// In-place gathers and scatters have one side at a block of its own on each member.
TEST(NcclWindows, ServeCollectivesInPlace) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    Arena arena(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    auto* const values = reinterpret_cast<float*>(arena.at(0));
    const Bytes mine(300 * sizeof(float), static_cast<std::byte>(rank.rank + 1));
    arena.put(static_cast<std::uint64_t>(rank.rank) * mine.size(), mine);
    const OneBuffer gather(BALEEN_ALL_GATHER, values, values, 900, rank);
    arena.run(rank.prepare(world, gather.spec));
    for (std::uint64_t member = 0; member < 3; ++member)
      expect(arena.get(member * mine.size(), mine.size()) == Bytes(mine.size(), static_cast<std::byte>(member + 1)),
             "a block is wrong");
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 3u) << outcome.asked;
}

TEST(NcclWindows, EveryCollectiveHasTheBitsOfTheContract) {
  EXPECT_EQ(run_logged(3,
                       [](Rank& rank) {
                         Arena arena(rank, kBytes, Of::kTransport);
                         std::uint64_t seed = 0;
                         for (const baleen_collective_t op : kCollectives) {
                           void* world = rank.world();
                           for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_I64})
                             for (const std::uint64_t count : {252, 20'001}) {
                               const Case c = case_of(op, dtype, 3, {count}, ++seed);
                               OnDevice(rank, world, c, arena).expect_answer(name_of(c));
                             }
                         }
                       })
                .failures,
            "");
}

/// NCCL would read and write at the caller's offset on all members.
TEST(NcclWindows, EndWhereAMembersBuffersLieOtherwise) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    Arena arena(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    expect_sum(rank, world, arena);
    expect_sum(rank, world, arena, 4096);
    expect_sum(rank, world, arena, rank.rank == 2 ? 256 : 0);
    expect_sum(rank, world, arena);  // and no others are made
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 3u) << outcome.asked;
  EXPECT_EQ(count_of("a window ends", outcome.asked), 3u);
}

TEST(NcclWindows, AreNotMadeOfMemoryOfDifferentSizes) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    Arena arena(rank, kBytes + (rank.rank == 1 ? 4096 : 0), Of::kTransport);
    expect_sum(rank, rank.world(), arena);
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 0u) << outcome.asked;
  EXPECT_GE(count_of("registers memory", outcome.asked), 3u) << "but registered";
}

/// One member has more of NCCL's memory than the others, which they do not share.
TEST(NcclWindows, AreTheSameMemoryByTheirOrderOfUse) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    std::unique_ptr<Arena> before, behind;
    if (rank.rank == 1) before = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    Arena arena(rank, kBytes, Of::kTransport);
    if (rank.rank == 1) behind = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    expect_sum(rank, rank.world(), arena);
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(count_of("window of " + std::to_string(kBytes), outcome.asked), 3u) << outcome.asked;
}

/// Nor are others made on that communicator, whose members need not have come so far.
TEST(NcclWindows, GoBeforeTheirMemoryDoes) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    auto first = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    expect_sum(rank, world, *first);
    first.reset();
    Arena second(rank, kBytes, Of::kTransport);
    expect_sum(rank, world, second);
    expect_sum(rank, rank.world(), second);
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 3u * 2u) << outcome.asked;
}

/// An arena of the device serves in its place, on that member alone.
TEST(NcclWindows, AreDoneWithoutWhereNcclHasNoMemory) {
  const auto body = [](Rank& rank) {
    if (rank.rank == 1) setenv("NCCL_DOUBLE_FAIL", "ncclMemAlloc:1", 1);
    void* base = nullptr;
    const baleen_status_t status = device_memory_of(rank).allocate(rank.get(), kBytes, &base);
    expect(status == (rank.rank == 1 ? BALEEN_UNSUPPORTED : BALEEN_OK), "it says " + std::to_string(status));
    if (status == BALEEN_OK) device_memory_of(rank).release(rank.get(), base);
    if (rank.rank == 1)
      expect_contains(logged(rank), "bytes of NCCL's memory are not there: ncclMemAlloc failed: unhandled cuda error");
    Arena arena(rank, kBytes, rank.rank == 1 ? Of::kDevice : Of::kTransport);
    expect_sum(rank, rank.world(), arena);
  };
  const Outcome outcome = run_logged(3, body);
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 0u) << outcome.asked;
}

TEST(NcclWindows, MemoryThatWasAskedForAndIsNotThereIsAnError) {
  const auto body = [](Rank& rank) {
    setenv("NCCL_DOUBLE_FAIL", "ncclMemAlloc:1", 1);
    void* base = nullptr;
    expect(device_memory_of(rank).allocate(rank.get(), kBytes, &base) == BALEEN_NO_MEMORY, "it says something else");
    expect_contains(rank.host().failure(), "`memory = \"device\"` does without");
  };
  EXPECT_EQ(run_nccl(1, body, {{"memory", "nccl"}}), "");
}

TEST(NcclWindows, AreDoneWithoutBetweenDevicesThatShareNone) {
  const Set none("NCCL_DOUBLE_WINDOWS", "0");
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    Arena arena(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    expect_sum(rank, world, arena);
    expect_sum(rank, world, arena, 4096);
    expect_contains(logged(rank), "NCCL makes no windows between these devices");
  });
  EXPECT_EQ(outcome.failures, "");
}

/// They are wanted by an option, which another one may leave without memory.
TEST(NcclWindows, AreLeftOutByOptions) {
  const auto body = [](Rank& rank) {
    void* base = nullptr;
    expect(device_memory_of(rank).allocate(rank.get(), kBytes, &base) == BALEEN_UNSUPPORTED, "it has memory");
  };
  EXPECT_EQ(run_nccl(1, body, {{"memory", "device"}}), "");
  const Outcome outcome = run_logged(3,
                                     [](Rank& rank) {
                                       Arena arena(rank, kBytes, Of::kTransport);
                                       expect_sum(rank, rank.world(), arena);
                                     },
                                     {});
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 0u) << outcome.asked;
}

TEST(NcclWindows, ServeTheCopyEngines) {
  const Outcome outcome =
      run_logged(3,
                 [](Rank& rank) {
                   Arena arena(rank, kBytes, Of::kTransport);
                   void* world = rank.world();
                   for (const baleen_collective_t op : kAlike)
                     OnDevice(rank, world, alike_case(op), arena).expect_answer(name_of(alike_case(op)));
                   const Case uneven = case_of(BALEEN_ALL_TO_ALL, BALEEN_I32, 3, {251}, 4);
                   OnDevice(rank, world, uneven, arena).expect_answer(name_of(uneven));
                 },
                 {{"windows", "true"}, {"copy_engine", "true"}});
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(count_of(", policy 2", outcome.asked), 3u) << outcome.asked;
  EXPECT_EQ(outcome.windows(), 3u);
}

/// The others wait in NCCL for their part of the window.
TEST(NcclWindows, ThatOneMemberCannotMakeAreToldToAll) {
  const auto body = [](Rank& rank) {
    if (rank.rank == 1) setenv("NCCL_DOUBLE_FAIL", "ncclCommWindowRegister:1", 1);
    auto arena = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    std::string why;
    try {
      expect_sum(rank, rank.world(), *arena);
    } catch (const std::runtime_error& e) {
      why = e.what();
    }
    expect_contains(why, "rank 1: ncclCommWindowRegister failed: unhandled system error");
    expect_contains(why, "leave out `windows` in [transport]");
    arena.reset();
    const std::string told = logged(rank);
    expect(told.find("ncclMemFree") == told.npos, told);
  };
  EXPECT_EQ(run_nccl(3, body, kWindows), "");
}

/// Communicators are aborted before memory goes.
TEST(NcclWindows, AreGoneBeforeTheirMemoryAfterAFailure) {
  const auto body = [](Rank& rank) {
    auto arena = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    const OnDevice sum(rank, world, alike_case(BALEEN_ALL_REDUCE), *arena);
    if (rank.rank == 1) setenv("NCCL_DOUBLE_BREAK", "ncclAllReduce:2", 1);
    baleen_event_t done{};
    std::uint64_t begun = 0;
    while (begun < 4 && rank.table.start(rank.get(), sum.slot(), nullptr, 0, &done, begun + 1) == BALEEN_OK) ++begun;
    expect(event_wait(done, begun, 20.0) && (begun == 0 || event_value(done) == BALEEN_EVENT_FAILED), "no failure");
    rank.table.group_destroy(rank.get(), world);
    arena.reset();
    const std::string told = logged(rank);
    expect(told.find("ncclMemFree") == told.npos, told);
  };
  EXPECT_EQ(run_nccl(3, body, kWindows), "");
}

/// Also where nobody has waited for the end: none is taken back from a communicator that may be at work.
TEST(NcclWindows, AreLeftToTheAbortOfTheirCommunicator) {
  const Outcome outcome = run_logged(3, [](Rank& rank) {
    auto arena = std::make_unique<Arena>(rank, kBytes, Of::kTransport);
    void* world = rank.world();
    expect_sum(rank, world, *arena);
    rank.run(rank.prepare(world, barrier_spec()));
    usleep(500'000);  // nobody who leaves finds another in the barrier
    rank.abort("the run is over");
    arena.reset();
  });
  EXPECT_EQ(outcome.failures, "");
  EXPECT_EQ(outcome.windows(), 3u) << outcome.asked;
  EXPECT_EQ(count_of("a window ends", outcome.asked), 0u) << outcome.asked;
}

}  // namespace
}  // namespace baleen::conformance
