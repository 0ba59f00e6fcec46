/// \file A pipeline through the strategy interface computes what one rank computes, micro-batches overtaking each
/// other, with an embedding that the first and the last stage share.
#include <gtest/gtest.h>

#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  MeshAxes mesh;
  std::vector<std::string> arguments;
  std::string options = {};  ///< of the strategy
};

std::string pipeline(const MeshAxes& mesh, const std::string& options) {
  return manifest_of(mesh, "[[plan]]\nstrategy = \"pipeline_spike\"\n" + options);
}

const std::string kZeroBubble = "schedule = \"zero_bubble\"\n";
std::string interleaved(int chunks) { return "schedule = \"interleaved\"\nchunks = " + std::to_string(chunks) + "\n"; }

class Pipeline : public ::testing::TestWithParam<Case> {};

TEST_P(Pipeline, RanksComputeWhatOneRankComputes) {
  const std::string manifest = pipeline(GetParam().mesh, GetParam().options);
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

/// Gradients of weights when there is nothing else to do.
INSTANTIATE_TEST_SUITE_P(
    ZeroBubble, Pipeline,
    ::testing::Values(Case{{{"pipeline", 2}}, {"accumulate=4"}, kZeroBubble},
                      Case{{{"pipeline", 2}, {"data", 2}}, kEverything, kZeroBubble},
                      Case{{{"pipeline", 4}}, {"layers=4", "tied", "accumulate=8", "clip=1"}, kZeroBubble}),
    [](const auto& info) { return test_name("zb", info.param.mesh, "gpt", info.param.arguments); });

/// Several chunks of the model on a rank.
INSTANTIATE_TEST_SUITE_P(
    Interleaved, Pipeline,
    ::testing::Values(
        Case{{{"pipeline", 2}}, {"layers=4", "accumulate=4"}, interleaved(2)},
        Case{{{"pipeline", 2}, {"data", 2}},
             {"layers=4", "batch=16", "tied", "accumulate=4", "clip=0.5"},
             interleaved(2)},
        Case{{{"pipeline", 3}}, {"layers=6", "batch=12", "tied", "accumulate=6"}, interleaved(2)},
        Case{{{"pipeline", 2}}, {"layers=6", "accumulate=2", "dropout=0.2", "masked=101"}, interleaved(3)}),
    [](const auto& info) { return test_name("i", info.param.mesh, "gpt", info.param.arguments); });

TEST(PipelineSchedule, IsRefusedWhereAPassComesTooEarly) {
  const ProcessResult result = run_parity({"verify", "--plugin-path", build_dir() + "/tests/spike"}, "gpt",
                                          pipeline({{"pipeline", 2}}, "schedule = \"bad\"\n"), {"accumulate=2"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(
      result.err.find("is the weight gradient pass of chunk 0 of micro-batch 0, before the backward pass of chunk 0"),
      std::string::npos)
      << result.err;
}

TEST(PipelineSchedule, IsRefusedWhereOpsHaveAChunkThatItLacks) {
  const ProcessResult result =
      run_parity({"verify", "--plugin-path", build_dir() + "/tests/spike"}, "gpt",
                 pipeline({{"pipeline", 2}}, kZeroBubble + "chunks = 2\n"), {"layers=4", "accumulate=2"});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(result.err.find("ops belong to chunk 1 of the model"), std::string::npos) << result.err;
}

/// Bytes of activations on each of four ranks.
std::vector<double> activations(const std::string& options, const char* micro_batches) {
  const auto account =
      account_of("gpt", pipeline({{"pipeline", 4}}, options), 4, {"layers=8", "batch=16", micro_batches}, 1,
                 {"--plugin-path", build_dir() + "/tests/spike"});
  std::vector<double> bytes;
  for (const auto& own : account) bytes.push_back(own.at("planned_bytes.activations"));
  return bytes;
}

/// Stage r of p holds the activations of min(m, p - r) micro-batches (Narayanan et al., arXiv 2104.04473), not of all.
TEST(PipelineMemory, HoldsAsManyMicroBatchesAsAreOnTheirWay) {
  const std::vector<double> eight = activations("", "accumulate=8"), sixteen = activations("", "accumulate=16");
  EXPECT_GT(eight[0], 1.7 * eight[2]);  // four to two, but for what does not grow with them
  EXPECT_GT(eight[1], 1.3 * eight[2]);
  EXPECT_LT(sixteen[0], 0.6 * eight[0]);  // half as large, and as many
}

/// With weight gradients left for later every stage holds those of p micro-batches, the first as many as before (H1 of
/// Qi et al., arXiv 2401.10241). With two chunks the first rank holds 2 (p - 1) + p + 1 = 11 halves (Narayanan et al.).
TEST(PipelineMemory, GrowsWithWhatASchedulePutsOff) {
  const std::vector<double> plain = activations("", "accumulate=8"), later = activations(kZeroBubble, "accumulate=8"),
                            chunks = activations(interleaved(2), "accumulate=8");
  EXPECT_LT(later[0], 1.15 * plain[0]);
  EXPECT_GT(later[2], 1.3 * plain[2]);
  EXPECT_GT(chunks[0], 1.2 * plain[0]);
  EXPECT_LT(chunks[0], 1.6 * plain[0]);
}

}  // namespace
}  // namespace baleen::test
