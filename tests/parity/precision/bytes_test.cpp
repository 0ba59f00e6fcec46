/// \file Bytes of model states and bytes sent, of a GPT of 7.5 billion parameters, against the published table of ZeRO
/// (Rajbhandari et al., arXiv 1910.02054): 2Ψ + 2Ψ + 12Ψ bytes, and 2Ψ more with gradients of fp32.
#include <cmath>

#include "parity/plan/planned.hpp"
#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA)

constexpr double kLayers = 36, kWidth = 4096, kVocabulary = 50304, kContext = 1024;
/// Weights and biases of the norms, which stay fp32: 4 + 4 + 8 bytes, which are 16 as well.
constexpr double kNorms = (2 * kLayers + 1) * 2 * kWidth;
/// Narayanan et al., arXiv 2104.04473, written out: all others.
constexpr double kCast = kLayers * (12 * kWidth * kWidth + 9 * kWidth) + (kVocabulary + kContext) * kWidth;

Planned plan_large(int ranks, int stage, const std::string& gradients) {
  const std::string plan =
      stage == 0 ? plan_entry("data") : plan_entry("zero", "stage = " + std::to_string(stage) + "\n");
  const std::string memory = "[compute]\nmemory = 1000000000\n";  // MiB, of the host that all ranks share
  return plan_of(
      "plan/gpt_large",
      manifest_of({{"data", ranks}}, plan + precision("bf16", "gradients = \"" + gradients + "\"\n")) + memory,
      {"data=" BALEEN_SOURCE_DIR "/tests/golden/whales.txt"});
}

class PrecisionTable : public ::testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(PrecisionTable, HoldsWhatTheFormulaSays) {
  const auto& [stage, gradients] = GetParam();
  const double gradient = gradients == "same" ? 2 : 4;
  for (const int ranks : {4, 64, 1024}) {
    SCOPED_TRACE(ranks);
    const Planned planned = plan_large(ranks, stage, gradients);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    ASSERT_EQ(planned.parameters, kCast + kNorms);
    const PlannedRanks& one = planned.classes.at(0);
    const auto cut = [&](int from) { return stage >= from ? 1.0 / ranks : 1.0; };
    // The fp32 parameter is a state like Adam's two: K = 12.
    EXPECT_EQ(one.bytes("parameters"), 4 * kCast * cut(1) + 4 * kNorms * cut(3));
    EXPECT_EQ(one.bytes("optimizer"), 8 * (kCast + kNorms) * cut(1));
    // Blocks of ceil(n/k): where 1,024 ranks do not divide a dimension, the first hold a little more.
    EXPECT_NEAR(one.bytes("copies"), 2 * kCast * cut(3), 1e-3 * kCast * cut(3));
    // Stage 1 adds up whole gradients, and leaves shards: no one number.
    if (stage != 1) {
      EXPECT_EQ(one.numbers.at("held_gradients_bytes"), (gradient * kCast + 4 * kNorms) * cut(2));
      const double states = one.bytes("parameters") + one.bytes("optimizer") + one.bytes("copies") +
                            one.numbers.at("held_gradients_bytes");
      const double parameters = kCast + kNorms, all = 14 + gradient;
      const double formula = stage == 0   ? all * parameters
                             : stage == 2 ? 2 * parameters + (all - 2) * parameters / ranks
                                          : all * parameters / ranks;
      EXPECT_NEAR(states, formula, 16 * kNorms) << "but for the norms";
    }
  }
}

/// Elements sent are those of the table in fp32; each has 2 bytes, a gradient of fp32 has 4.
TEST_P(PrecisionTable, SendsSixteenBits) {
  const auto& [stage, gradients] = GetParam();
  const double gradient = gradients == "same" ? 2 : 4;
  const int ranks = 4, micro = 2;
  const Planned planned = plan_large(ranks, stage, gradients);
  const PlannedRanks& one = planned.classes.at(0);
  const double part = (ranks - 1.0) / ranks;
  const auto sent = [&](const char* kind) {
    const auto found = one.numbers.find("sent_bytes." + std::string(kind) + ".data");
    return found == one.numbers.end() ? 0 : found->second;
  };
  const double summed = (gradient * kCast + 4 * kNorms) * part;
  if (stage == 0) {
    EXPECT_NEAR(sent("all_reduce"), 2 * summed, 64) << "and the loss";
    EXPECT_EQ(sent("all_gather"), 0);
    return;
  }
  EXPECT_EQ(sent("reduce_scatter"), summed * (stage == 1 ? 1 : micro));
  if (stage < 3) {
    EXPECT_EQ(sent("all_gather"), (2 * kCast + 4 * kNorms) * part);
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, PrecisionTable,
                         ::testing::Combine(::testing::Values(0, 1, 2, 3), ::testing::Values("same", "fp32")),
                         [](const auto& info) {
                           return "stage" + std::to_string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

#endif

}  // namespace
}  // namespace baleen::test
