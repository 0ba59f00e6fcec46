/// \file The table of ZeRO (Rajbhandari et al., arXiv 1910.02054) at its own size: bytes of model states per rank of a
/// GPT of 7.5 billion parameters. The published table is for fp16 with fp32 copies (2Ψ + 2Ψ + 12Ψ bytes); here all is
/// fp32, parameters 4Ψ, gradients 4Ψ, Adam's moments 8Ψ, which gives 16Ψ, 8Ψ + 8Ψ/N, 4Ψ + 12Ψ/N and 16Ψ/N for stages 0
/// to 3.
#include <cmath>

#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA)

constexpr double kLayers = 36, kWidth = 4096, kVocabulary = 50304, kContext = 1024;
/// P = 12Lh²(1 + 13/(12h) + (V + s)/(12Lh)) of Narayanan et al., arXiv 2104.04473, written out so that it is exact; and
/// the last norm's weights and biases, which they leave out.
constexpr double kParameters =
    kLayers * (12 * kWidth * kWidth + 13 * kWidth) + (kVocabulary + kContext) * kWidth + 2 * kWidth;

std::string plan(int stage) {
  return stage == 0 ? "[[plan]]\nstrategy = \"data\"\n"
                    : "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n";
}

Planned plan_large(int ranks, int stage, std::vector<std::string> arguments) {
  arguments.emplace_back("data=" + source_dir() + "/tests/golden/whales.txt");
  const std::string memory = "[compute]\nmemory = 1000000000\n";  // MiB, of the host that all ranks share
  return plan_of("plan/gpt_large", manifest_of({{"data", ranks}}, plan(stage)) + memory, arguments);
}

class ZeroTable : public ::testing::TestWithParam<int> {};

/// All extents divide by 1024, so nothing is padded and all ranks are alike. Gradients are accumulated over two
/// micro-batches, so that they must be held.
TEST_P(ZeroTable, HoldsWhatTheFormulaSays) {
  const int stage = GetParam();
  for (const int ranks : {4, 16, 64, 256, 1024}) {
    const Planned planned = plan_large(ranks, stage, {});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    ASSERT_EQ(planned.parameters, kParameters);
    ASSERT_EQ(planned.classes.size(), 1u);
    const PlannedRanks& one = planned.classes[0];
    EXPECT_EQ(one.numbers.at("count"), ranks);
    const double whole = kParameters, shard = kParameters / ranks;
    EXPECT_EQ(one.bytes("parameters"), 4 * (stage < 3 ? whole : shard)) << ranks;
    // Stage 1 adds up whole gradients, which it reduces within the last backward pass.
    EXPECT_EQ(one.numbers.at("held_gradients_bytes"), 4 * (stage < 2 ? whole : shard)) << ranks;
    EXPECT_EQ(one.bytes("optimizer"), 8 * (stage < 1 ? whole : shard)) << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, ZeroTable, ::testing::Values(0, 1, 2, 3));

/// Where extents do not divide, a rank's shard of each tensor is ceil(n/N): the named padding, and the only one.
TEST(ZeroTableUneven, PadsByLessThanAnElementPerTensorAndRank) {
  const int ranks = 96, layers = 4, width = 1000, vocabulary = 50257, context = 1024;
  const Planned planned = plan_large(ranks, 3, {"layers=4", "dim=1000", "heads=8", "vocab=50257", "batch=192"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  // Two norms, four projections of attention (three as one), two products; each with a bias.
  std::vector<double> sizes{1.0 * vocabulary * width, 1.0 * context * width, 1.0 * width, 1.0 * width};
  for (int layer = 0; layer < layers; ++layer)
    for (const double size : {1, 1, 1, 1, 3 * width, 3, width, 1, 4 * width, 4, 4 * width, 1})
      sizes.push_back(size * width);
  double all = 0, largest = 0;
  for (const double size : sizes) all += size, largest += std::ceil(size / ranks);
  ASSERT_EQ(planned.parameters, all);
  double held = 0;
  for (const PlannedRanks& one : planned.classes) held += one.numbers.at("count") * one.bytes("parameters");
  EXPECT_EQ(held, 4 * all);
  EXPECT_EQ(planned.classes[0].bytes("parameters"), 4 * largest);
  EXPECT_EQ(planned.classes[0].numbers.at("held_gradients_bytes"), 4 * largest);
  EXPECT_EQ(planned.classes[0].bytes("optimizer"), 8 * largest);
}

#endif

}  // namespace
}  // namespace baleen::test
