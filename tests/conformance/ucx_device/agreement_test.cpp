/// \file Who takes memory of devices: all ranks or none, and never where an option has the processor read messages.
#include "device_run.hpp"

namespace baleen::conformance {
namespace {

bool has_logged(const Rank& rank, const std::string& part) {
  for (const std::string& line : rank.host().logged())
    if (line.find(part) != std::string::npos) return true;
  return false;
}

/// Ranks of one job, each in a process of its own; `prepare` sets the scene before a rank joins.
std::string run_apart(std::int32_t ranks, const test::RankOptions& options,
                      const std::function<void(std::int32_t)>& prepare, const std::function<void(Rank&)>& body) {
  test::SharedRendezvous rendezvous;
  return test::run_bodies(As::kProcesses, ranks, [&](std::int32_t number) {
    prepare(number);
    Rank rank(bare_ucx(), rendezvous, number, ranks, options);
    body(rank);
  });
}

const auto kNothing = [](std::int32_t) {};

bool knows_devices(const Rank& rank) { return rank.table.query(rank.get(), abi(BALEEN_TRANSPORT_NATIVE)) != nullptr; }

TEST(UcxDeviceAgreement, OfAllRanksTakesWhatMoves) {
  EXPECT_EQ(run_apart(3, {}, kNothing,
                      [](Rank& rank) {
                        baleen_operations_t wanted = 0;
                        for (const baleen_collective_t op : kMoving) wanted |= BALEEN_OPERATION(op);
                        for (const baleen_collective_t op : {BALEEN_SEND, BALEEN_RECEIVE, BALEEN_BARRIER})
                          wanted |= BALEEN_OPERATION(op);
                        expect(operations_of(rank) == wanted, "other operations");
                        operations_of(rank);
                        expect(knows_devices(rank), "it wants no device");
                        expect(has_logged(rank, "UCX moves what lies in the devices' memory") == (rank.rank == 0),
                               "rank 0 alone says so");
                      }),
            "");
}

/// What one of them lacks none of them uses, and the first that lacks it is named.
TEST(UcxDeviceAgreement, IsNotReachedWhereARankLacksIt) {
  const auto lacks = [](std::int32_t rank) { setenv("UCX_DOUBLE_CUDA", rank == 1 ? "0" : "1", 1); };
  EXPECT_EQ(
      run_apart(3, {}, lacks,
                [](Rank& rank) {
                  expect(operations_of(rank) == 0, "it takes some");
                  expect(!knows_devices(rank), "it wants a device");
                  expect(has_logged(rank, "UCX of rank 1 does not know the memory of CUDA devices") == (rank.rank == 0),
                         "rank 0 says who lacks it");
                  std::byte* const arena = arena_of(rank, 1 << 20);
                  run_case(rank, rank.world(), static_cast<std::size_t>(rank.rank),
                           case_of(BALEEN_ALL_GATHER, BALEEN_F32, 3, {1000, 7}, 1), Memory::kMixed, false, arena);
                }),
      "");
}

TEST(UcxDeviceAgreement, IsSilentWhereNobodyHasIt) {
  EXPECT_EQ(run_apart(
                2, {}, [](std::int32_t) { setenv("UCX_DOUBLE_CUDA", "0", 1); },
                [](Rank& rank) {
                  expect(operations_of(rank) == 0, "it takes some");
                  expect(!knows_devices(rank), "it wants a device");
                  expect(!has_logged(rank, "devices' memory"), "it speaks of devices");
                }),
            "");
}

TEST(UcxDeviceAgreement, IsNotReachedWhereTheProcessorReadsMessages) {
  EXPECT_EQ(run_apart(2, {{"integrity", "true"}}, kNothing,
                      [](Rank& rank) {
                        expect(operations_of(rank) == 0, "it takes some");
                        expect(has_logged(rank, "`integrity` has the host's processor read every message") ==
                                   (rank.rank == 0),
                               "rank 0 says why");
                      }),
            "");
  EXPECT_EQ(run_apart(2, {{"encrypt", "true"}}, kNothing,
                      [](Rank& rank) { expect(operations_of(rank) == 0, "it takes some"); }),
            "");
}

/// What one would take that is made with these options.
baleen_operations_t would_take(const test::RankOptions& options, const char* kind = "cuda") {
  const auto& memory =
      *static_cast<const baleen_transport_memory_t*>(bare_ucx().table.query(nullptr, abi(BALEEN_TRANSPORT_MEMORY)));
  test::TestSettings settings(bare_ucx().descriptor);
  for (const auto& [name, text] : options) settings.set(name, text);
  const test::TestHost host;
  expect(memory.would_take(host.get(), settings.get(), abi(kind)) == 0, "it would take all");
  return memory.would_take_operations(host.get(), settings.get(), abi(kind));
}

/// Before there is a transport the machine is asked, for the same answer.
TEST(UcxDeviceAgreement, IsForeseen) {
  EXPECT_EQ(run_apart(2, {}, kNothing,
                      [](Rank& rank) {
                        expect(would_take({}) == operations_of(rank) && would_take({}) != 0, "other operations");
                        expect(would_take({}, "tpu") == 0, "another kind of memory");
                        expect(would_take({{"integrity", "true"}}) == 0, "with `integrity`");
                        expect(would_take({{"encrypt", "true"}}) == 0, "with `encrypt`");
                        setenv("UCX_DOUBLE_CUDA", "0", 1);
                        expect(would_take({}) == 0, "where UCX lacks it");
                      }),
            "");
}

TEST(UcxDeviceAgreement, TellsWhatToDoWhereMemoryCannotBeMapped) {
  const std::string text = run_devices(1, [](Rank& rank) {
    setenv("UCX_DOUBLE_FAIL", "1", 1);
    test::EmulatedDevice& device = test::device_of(rank.get());
    void* base = nullptr;
    expect(device.table().arena_create(device.get(), BALEEN_ARENA_SHARED, 4096, &base) == BALEEN_OK, "no arena");
    expect(rank.table.register_arena(rank.get(), base, 4096) == BALEEN_NO_MEMORY, "it takes the arena");
    expect_contains(rank.host().failure(), "4096 bytes of a device's memory");
    expect_contains(rank.host().failure(), "tls = [\"^cuda\", \"posix\"]");
  });
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace baleen::conformance
