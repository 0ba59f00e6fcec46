/// \file A pipeline through the strategy interface computes what one rank computes, micro-batches overtaking each
/// other, with an embedding that the first and the last stage share.
#include <gtest/gtest.h>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  MeshAxes mesh;
  std::vector<std::string> arguments;
};

class Pipeline : public ::testing::TestWithParam<Case> {};

TEST_P(Pipeline, RanksComputeWhatOneRankComputes) {
  const std::string manifest = manifest_of(GetParam().mesh, "[[plan]]\nstrategy = \"pipeline_spike\"\n");
  expect_equal(
      run_parity({"verify", "--plugin-path", build_dir() + "/tests/spike"}, "gpt", manifest, GetParam().arguments));
}

const std::vector<std::string> kEverything{"tied",        "accumulate=4", "clip=0.5",
                                           "dropout=0.2", "masked=101",   "optimizer=lamb"};

INSTANTIATE_TEST_SUITE_P(Spike, Pipeline,
                         ::testing::Values(Case{{{"pipeline", 2}}, {}}, Case{{{"pipeline", 2}}, {"accumulate=4"}},
                                           Case{{{"pipeline", 2}}, {"tied", "accumulate=2"}},
                                           Case{{{"pipeline", 2}}, kEverything},
                                           Case{{{"pipeline", 2}, {"data", 2}}, kEverything},
                                           Case{{{"pipeline", 4}}, {"layers=4", "tied", "accumulate=8", "clip=1"}},
                                           Case{{{"pipeline", 3}}, {"layers=5", "batch=12", "accumulate=6"}}),
                         [](const auto& info) { return test_name("p", info.param.mesh, "gpt", info.param.arguments); });

/// Stage r of p holds the activations of min(m, p - r) micro-batches (Narayanan et al., arXiv 2104.04473), not of all.
TEST(PipelineMemory, HoldsAsManyMicroBatchesAsAreOnTheirWay) {
  const std::string manifest = manifest_of({{"pipeline", 4}}, "[[plan]]\nstrategy = \"pipeline_spike\"\n");
  const auto activations = [&](const char* micro_batches) {
    const auto account = account_of("gpt", manifest, 4, {"layers=8", "batch=16", micro_batches}, 1,
                                    {"--plugin-path", build_dir() + "/tests/spike"});
    std::vector<double> bytes;
    for (const auto& own : account) bytes.push_back(own.at("planned_bytes.activations"));
    return bytes;
  };
  const std::vector<double> eight = activations("accumulate=8"), sixteen = activations("accumulate=16");
  EXPECT_GT(eight[0], 1.7 * eight[2]);  // four to two, but for what does not grow with them
  EXPECT_GT(eight[1], 1.3 * eight[2]);
  EXPECT_LT(sixteen[0], 0.6 * eight[0]);  // half as large, and as many
}

}  // namespace
}  // namespace baleen::test
