/// \file nccl inside hosts and another transport between them: what the caller hands over reaches nccl.
#include "nccl_run.hpp"

namespace baleen::conformance {
namespace {

std::string run_on(const std::string& hosts, const std::function<void(Rank&)>& body) {
  static const test::TransportPlugin plugin(test::built_plugin("transport", "hierarchy"));
  std::string nccl = member_text("nccl");
  for (const auto& [name, value] : test::double_of_nccl()) nccl += "\n" + name + "=" + value;
  return test::run_ranks(plugin, As::kProcesses, static_cast<std::int32_t>(hosts.size()), body,
                         {{"intra_host", nccl}, {"inter_host", member_text("ucx", "tcp")}}, hosts);
}

class NcclHierarchy : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!test::has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  }
};
INSTANTIATE_TEST_SUITE_P(On, NcclHierarchy, testing::Values("aabb", "abb", "abab"),
                         [](const auto& hosts) { return std::string(hosts.param); });

void expect_told_of_the_way(const Rank& rank) {
  std::string all;
  for (const std::string& line : rank.host().logged()) all += line + "\n";
  const bool told = all.find(
                        "`nccl` works in the memory of the device and `ucx` does not, so all collectives of both "
                        "pass through the memory of the host; `nccl` alone, for all ranks, would not") != all.npos;
  expect(told == (rank.rank == 0), all);
}

/// Buffers are the host's, as the program stages them where not both transports take a device's memory.
TEST_P(NcclHierarchy, EveryCollectiveHasTheBitsOfTheContract) {
  EXPECT_EQ(
      run_on(GetParam(),
             [](Rank& rank) {
               const test::EmulatedDevice device(rank.rank);
               const test::UsedDevice used(rank.get(), rank.table, device);
               expect_told_of_the_way(rank);
               std::byte* arena = arena_of(rank, 8 << 20);
               void* world = rank.world();
               const auto place = static_cast<std::size_t>(rank.rank);
               std::uint64_t seed = 0;
               for (const baleen_dtype_t dtype : {BALEEN_F32, BALEEN_BF16, BALEEN_I64})
                 for (const baleen_collective_t op : kCollectives)
                   for (const bool in_place : {false, true}) {
                     const Case c = case_of(op, dtype, static_cast<std::size_t>(rank.ranks), {0, 17, 999}, ++seed);
                     run_case(rank, world, place, c, Memory::kMixed, in_place, arena);
                   }
             }),
      "");
}

}  // namespace
}  // namespace baleen::conformance
