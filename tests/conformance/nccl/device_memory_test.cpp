/// \file Collectives in arenas of the device that the transport was told of: no host takes part, and the bits are those
/// of every transport.
#include <unistd.h>

#include "conformance/transport/device_arena.hpp"
#include "nccl_run.hpp"

namespace baleen::conformance {
namespace {

TEST(NcclDeviceMemory, EveryCollectiveHasTheBitsOfTheContract) {
  EXPECT_EQ(run_nccl(3,
                     [](Rank& rank) {
                       Arena arena(rank, 8 << 20);
                       void* world = rank.world();
                       std::uint64_t seed = 0;
                       for (const baleen_dtype_t dtype : kDtypes)
                         for (const baleen_collective_t op : kCollectives) {
                           const Case c = case_of(op, dtype, 3, {0, 1, 250, 20'001}, ++seed);
                           OnDevice(rank, world, c, arena).expect_answer(name_of(c));
                         }
                     }),
            "");
}

/// Many rounds through little memory.
TEST(NcclDeviceMemory, SumsInOrderGoInPieces) {
  EXPECT_EQ(run_nccl(3,
                     [](Rank& rank) {
                       Arena arena(rank, 16 << 20);
                       void* world = rank.world();
                       for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE, BALEEN_REDUCE_SCATTER}) {
                         const Case c = case_of(op, BALEEN_F32, 3, {900'001, 7, 300'000}, 5);
                         OnDevice(rank, world, c, arena).expect_answer(name_of(c));
                       }
                     },
                     {{"scratch_mb", "1"}}),
            "");
}

/// Streams go on when their communicators are aborted, but not beyond the end of the group.
TEST(NcclDeviceMemory, IsFreeWhenTheGroupIsDestroyedAfterAFailure) {
  const auto body = [](Rank& rank) {
    auto arena = std::make_unique<Arena>(rank, 16 << 20);
    void* world = rank.world();
    const OnDevice sum(rank, world, case_of(BALEEN_ALL_REDUCE, BALEEN_F32, 3, {300'001}, 5), *arena);
    if (rank.rank == 1) setenv("NCCL_DOUBLE_BREAK", "ncclSend:3", 1);
    baleen_event_t done{};
    std::uint64_t begun = 0;
    while (begun < 4 && rank.table.start(rank.get(), sum.slot(), nullptr, 0, &done, begun + 1) == BALEEN_OK) ++begun;
    expect(event_wait(done, begun, 20.0) && (begun == 0 || event_value(done) == BALEEN_EVENT_FAILED), "no failure");
    rank.table.group_destroy(rank.get(), world);
    arena.reset();  // whoever touches it now crashes
    usleep(200'000);
  };
  EXPECT_EQ(run_nccl(3, body, {{"scratch_mb", "1"}}), "");
}

/// NCCL's own sums: the double adds around a ring, so some bit differs from the tree's.
TEST(NcclDeviceMemory, SumsInAnyOrderAreNcclsOwn) {
  EXPECT_EQ(run_nccl(4,
                     [](Rank& rank) {
                       Arena arena(rank, 4 << 20);
                       void* world = rank.world();
                       for (const baleen_collective_t op : {BALEEN_ALL_REDUCE, BALEEN_REDUCE, BALEEN_REDUCE_SCATTER}) {
                         Case c = case_of(op, BALEEN_F32, 4, {30'001, 4'000}, 6);
                         c.deterministic = false;
                         OnDevice(rank, world, c, arena).expect_near_answer();
                         if (op != BALEEN_ALL_REDUCE) continue;
                         try {
                           OnDevice(rank, world, c, arena).expect_answer("ring");
                         } catch (const std::runtime_error& e) {
                           expect_contains(e.what(), "is wrong");
                           continue;
                         }
                         throw std::runtime_error("a ring gave the bits of the tree; then this test shows nothing");
                       }
                     }),
            "");
}

}  // namespace
}  // namespace baleen::conformance
