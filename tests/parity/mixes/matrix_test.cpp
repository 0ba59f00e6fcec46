/// \file All mixes of zero, sequence, tensor and data on eight ranks: each that has a meaning computes what one rank
/// computes, each that has none is refused.
#include <gtest/gtest.h>

#include "mix.hpp"

namespace baleen::test {
namespace {

const std::vector<std::string> kModes{"1d", "2d", "2.5d", "3d"};

/// Whether the mode has a grid of so many ranks (of depth 2 in 2.5d).
bool fits(const std::string& mode, int ranks) {
  if (mode == "2d") return ranks == 4;
  if (mode == "2.5d" || mode == "3d") return ranks == 8;
  return true;
}

/// What can stand along the axis `tensor`.
std::vector<Mix> with_products(const Mix& mix, bool legal) {
  if (mix.tensor == 1) return legal ? std::vector{mix} : std::vector<Mix>{};
  std::vector<Mix> all;
  for (const std::string& mode : kModes)
    for (const bool megatron : {false, true}) {
      Mix one = mix;
      one.products = mode;
      one.megatron = megatron;
      if ((fits(mode, mix.tensor) && (!megatron || mode == "1d")) == legal) all.push_back(one);
    }
  return all;
}

std::vector<Mix> with_attention(const Mix& mix, bool legal) {
  if (mix.sequence == 1) return with_products(mix, legal);
  std::vector<Mix> all;
  for (const char* mode : {"ulysses", "ring"}) {
    Mix one = mix;
    one.attention = mode;
    for (const Mix& each : with_products(one, legal)) all.push_back(each);
  }
  return all;
}

std::vector<Mix> matrix(bool legal) {
  std::vector<Mix> all;
  for (const int data : {1, 2, 4, 8})
    for (int sequence = 1; data * sequence <= 8; sequence *= 2)
      for (const int stage : {0, 1, 2, 3})
        for (const std::string also : {"", "sequence"}) {
          Mix mix{data, sequence, 8 / data / sequence, stage, also};
          // Without ranks to cut over there is no stage.
          if (!also.empty() ? stage == 0 || sequence == 1 : stage > 0 && data == 1) continue;
          for (const Mix& one : with_attention(mix, legal)) all.push_back(one);
        }
  return all;
}

class LegalMix : public ::testing::TestWithParam<Mix> {};

TEST_P(LegalMix, OfEightRanksComputesWhatOneRankComputes) {
  const Mix& mix = GetParam();
  // A ring takes multiples of 2P; the rest takes 17 tokens on 2, 4 or 8 ranks.
  verify_parity("gpt", manifest_of(mix),
                {mix.attention == "ring" ? "context=16" : "context=17", "heads=8", "hidden=33", "batch=16",
                 "accumulate=2", "tied", "clip=0.5", "dropout=0.2", "masked=101", "optimizer=lamb"});
}

INSTANTIATE_TEST_SUITE_P(OnEight, LegalMix, ::testing::ValuesIn(matrix(true)),
                         [](const auto& info) { return name_of(info.param); });

class IllegalMix : public ::testing::TestWithParam<Mix> {};

TEST_P(IllegalMix, OfEightRanksIsRefused) {
  const Mix& mix = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(mix)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result =
      run_parity({"run", "--steps", "1"}, "gpt", manifest_of(mix), {"context=16", "heads=8", "batch=16"});
  EXPECT_EQ(result.exit_code, 2) << manifest_of(mix) << result.out << result.err;
  const bool grid = fits(mix.products, mix.tensor);
  EXPECT_NE(result.err.find(grid ? "strategy `sequence`" : "strategy `tensor`: mode = \"" + mix.products + "\" takes"),
            std::string::npos)
      << result.err;
}

INSTANTIATE_TEST_SUITE_P(OnEight, IllegalMix, ::testing::ValuesIn(matrix(false)),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace baleen::test
