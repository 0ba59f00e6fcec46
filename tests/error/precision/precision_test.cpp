/// \file What the strategy `precision` cannot be asked for: each with file, line, the bad value and the fix, before any
/// work.
#include <gtest/gtest.h>

#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

struct Bad {
  std::string name;
  std::string options;
  std::vector<std::string> says;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadPrecision : public testing::TestWithParam<Bad> {};

TEST_P(BadPrecision, IsRefusedWithThePlaceAndTheFix) {
  const std::string manifest = manifest_of({{"data", 1}}, plan_entry("precision", GetParam().options));
  const ProcessResult result = run_parity({"run", "--steps", "1"}, "gpt", manifest, {});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
  for (const std::string& words : GetParam().says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
}

std::vector<Bad> all() {
  const std::string fp16 = "dtype = \"fp16\"\n";
  return {
      {"NoDtype", "", {"option `dtype` is required"}},
      {"UnknownDtype", "dtype = \"bf15\"\n", {"ranks.toml:8:", "unknown choice `bf15`", "did you mean `bf16`?"}},
      {"Fp32", "dtype = \"fp32\"\n", {"unknown choice `fp32`"}},
      {"ScaleZero", fp16 + "loss_scale = 0\n", {"ranks.toml:9:", "option `loss_scale` must be from", "not 0"}},
      {"ScaleBelowZero", fp16 + "loss_scale = -8\n", {"option `loss_scale` must be from", "not -8"}},
      {"UnknownScaling", fp16 + "loss_scale = \"dynamics\"\n", {"unknown choice `dynamics`; did you mean `dynamic`?"}},
      {"ScaleOfAnotherType", fp16 + "loss_scale = true\n", {"option `loss_scale` takes a number"}},
      {"FirstScaleBelowZero", fp16 + "initial_scale = -1\n", {"option `initial_scale` must be from", "not -1"}},
      {"FirstScaleBelowTheSmallest",
       fp16 + "initial_scale = 2\nmin_scale = 8\n",
       {"`initial_scale` is 2", "below `min_scale`, 8", "begin at it or above"}},
      {"TinyFirstScale",
       fp16 + "initial_scale = 1e-9\nmin_scale = 1e-8\n",
       {"ranks.toml:7:12: strategy `precision`: `initial_scale` is 1e-09, below `min_scale`, 1e-08"}},
      {"GrowthOfAFixedScale",
       fp16 + "loss_scale = 64\ngrowth_factor = 3\n",
       {"`growth_factor` is of dynamic loss scaling, and `loss_scale` is the number 64; leave it out, or take "
        "loss_scale = \"dynamic\""}},
      {"SmallestOfNoScale",
       fp16 + "loss_scale = \"none\"\nmin_scale = 3\n",
       {"`min_scale` is of loss scaling, and the loss is not scaled; leave it out"}},
      {"PatienceOfNoScale",
       "dtype = \"bf16\"\npatience = 3\n",
       {"`patience` is of loss scaling, and the loss is not scaled; leave it out, or take loss_scale = \"dynamic\""}},
      {"NoInterval", fp16 + "growth_interval = 0\n", {"option `growth_interval` must be from 1 to", "not 0"}},
      {"GrowthThatShrinks", fp16 + "growth_factor = 0.5\n", {"option `growth_factor` must be from 1 to", "not 0.5"}},
      {"BackoffThatGrows", fp16 + "backoff_factor = 2\n", {"option `backoff_factor` must be from", "not 2"}},
      {"NoPatience", fp16 + "patience = 0\n", {"option `patience` must be from 1 to", "not 0"}},
      {"UnknownGradients", fp16 + "gradients = \"fp16\"\n", {"unknown choice `fp16`"}},
      {"KeepOfNothing",
       fp16 + "keep = [\"head.*\", \"hed.*\"]\n",
       {"ranks.toml:7:12: strategy `precision`, rewrite: `keep` names `hed.*`, and no parameter is called so",
        "take names of parameters, as `embedding.weight`, `embedding.positions`"}},
      {"UnknownProducts", fp16 + "products = \"fp9\"\n", {"unknown choice `fp9`; did you mean `fp8`?"}},
      {"HistoryOfNoEightBits",
       fp16 + "fp8_history = 16\n",
       {"`fp8_history` is of products in 8 bits, and there are none; leave it out, or take products = \"fp8\""}},
      {"MarginOfNoEightBits", fp16 + "fp8_margin = 1\n", {"`fp8_margin` is of products in 8 bits"}},
      {"KeptOfNoEightBits", fp16 + "fp8_keep = [\"head.*\"]\n", {"`fp8_keep` is of products in 8 bits"}},
      {"NoHistory", fp16 + "products = \"fp8\"\nfp8_history = 0\n", {"option `fp8_history` must be from 1 to"}},
      {"MarginBelowZero", fp16 + "products = \"fp8\"\nfp8_margin = -1\n", {"option `fp8_margin` must be from 0 to"}},
      {"EightBitsKeptOfNothing",
       fp16 + "products = \"fp8\"\nfp8_keep = [\"hed.*\"]\n",
       {"`fp8_keep` names `hed.*`, and no parameter is called so"}},
      {"NothingForEightBits",
       fp16 + "products = \"fp8\"\nfp8_keep = [\"*\"]\n",
       {"no product of a weight is left for 8 bits"}},
      {"TwoEntries",
       fp16 + plan_entry("precision", "dtype = \"bf16\"\n"),
       {"ranks.toml:10:12", "`embedding` has been cast to fp16 by an earlier entry of the plan",
        "leave one of the two out"}},
      {"UnknownOption", fp16 + "loss_scal = 2\n", {"unknown option `loss_scal`; did you mean `loss_scale`?"}},
  };
}

INSTANTIATE_TEST_SUITE_P(All, BadPrecision, testing::ValuesIn(all()), [](const auto& info) { return info.param.name; });

/// On a grid, blocks of what products read and make are sent and summed as they are without scales.
TEST(PrecisionInEightBits, IsRefusedOnAGrid) {
  for (const std::string mode : {"2d", "2.5d", "3d"}) {
    const std::string depth = mode == "2.5d" ? "depth = 2\n" : "";
    const std::string manifest =
        manifest_of({{"tensor", mode == "2d" ? 4 : 8}}, plan_entry("tensor", "mode = \"" + mode + "\"\n" + depth) +
                                                            precision("bf16", "products = \"fp8\"\n"));
    if (!missing_strategy(manifest).empty()) GTEST_SKIP() << "no strategy `tensor` in this tree";
    const ProcessResult result = run_parity({"plan"}, "gpt", manifest, {"heads=4"});
    EXPECT_EQ(result.exit_code, 2) << mode << result.out << result.err;
    EXPECT_NE(result.err.find("products = \"fp8\" does not work where `tensor` cuts products on a grid"),
              std::string::npos)
        << mode << result.err;
  }
}

TEST(PrecisionOfADevice, ThatItLacksIsRefusedWhereThePlanAsksForIt) {
  for (const char* dtype : {"bf16", "fp16"}) {
    const std::string manifest = manifest_of({{"data", 1}}, precision(dtype)) + "[compute]\nplugin = \"single\"\n";
    for (const char* command : {"run", "plan"}) {
      const ProcessResult result = run_parity({command, "--plugin-path", SINGLE_FOLDER}, "gpt", manifest, {});
      EXPECT_NE(result.exit_code, 0) << result.out;
      for (const std::string& words :
           {std::string("ranks.toml:7:12"),
            "the device cannot compute `pointwise` of fp32 [256, 24] to " + std::string(dtype),
            std::string("another dtype, or another compute plugin")})
        EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    }
  }
}

}  // namespace
}  // namespace baleen::test
