/// \file A run that is saved with states and parameters outside the device goes on with the same bits, there or with
/// them inside, and the other way round.
#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

class OffloadedCheckpoint : public testing::TestWithParam<int> {};

TEST_P(OffloadedCheckpoint, GoesOnWhereverStatesLie) {
  const int stage = GetParam();
  const MeshAxes axes{{"data", stage > 0 ? 2 : 1}};
  const std::string plan = stage > 0 ? zero(stage) : plan_entry("data");
  if (const std::string missing = missing_strategy(manifest_of(axes, plan)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder swap, folder;
  const SplitWork inside{"inside", axes, plan}, host{"host", axes, plan + offloaded_to("host")};
  const SplitWork disk{"disk", axes, plan + offloaded_to("nvme", on_disk(swap), kParameters)};
  const std::string whole = folder / "whole";
  ASSERT_EQ(run_saved(inside, in_folder(whole) + "every = 5\nkeep = 0\n").exit_code, 0);
  const std::string middle = whole + "/step-000000005";
  for (const SplitWork& first : {host, disk}) {
    const std::string own = folder / first.name;
    const ProcessResult run = run_saved(first, in_folder(own) + "every = 5\nkeep = 0\n");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(state_of(own), state_of(whole)) << first.name;
    EXPECT_EQ(state_of(own + "/step-000000005"), state_of(middle)) << first.name;
  }
  for (const auto& [from, to] : {std::pair(std::string("whole"), host), std::pair(std::string("whole"), disk),
                                 std::pair(std::string("disk"), inside), std::pair(std::string("host"), disk)}) {
    const std::string resumed = folder / (from + "_" + to.name);
    const ProcessResult run = run_saved(to, in_folder(resumed), {"--resume", folder / (from + "/step-000000005")});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(state_of(resumed), state_of(whole)) << from << " goes on with " << to.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, OffloadedCheckpoint, testing::Values(0, 1, 3),
                         [](const auto& one) { return one.param ? "Zero" + std::to_string(one.param) : "OneRank"; });

}  // namespace
}  // namespace baleen::test
