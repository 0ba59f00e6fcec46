/// \file What the strategy `compress` cannot be asked for: each with file, line, the bad value and the fix.
#include "parity/mixes/mix.hpp"
#include "support/case_lists.hpp"

namespace baleen::test {
namespace {

struct Bad {
  std::string name;
  MeshAxes mesh;
  std::string entry;
  std::vector<std::string> says;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadCompress : public testing::TestWithParam<Bad> {};

TEST_P(BadCompress, IsRefusedWithThePlaceAndTheFix) {
  const std::string manifest = manifest_of(GetParam().mesh, GetParam().entry);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result = run_parity({"run", "--steps", "1"}, "gpt", manifest, {});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
  for (const std::string& words : GetParam().says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
}

const MeshAxes kData{{"data", 2}}, kDataAndTensor{{"data", 2}, {"tensor", 2}};

std::string compress(const std::string& options) { return plan_entry("compress", options); }

std::vector<Bad> names() {
  return {
      {"NoMethod", kData, compress(""), {"option `method` is required"}},
      {"UnknownMethod", kData, compress("method = \"fp8\"\n"), {"unknown choice `fp8`"}},
      {"NoSuchAxis",
       kData,
       compress("method = \"bf16\"\naxis = \"dat\"\n"),
       {"strategy `compress` works along the mesh axis `dat`, and the mesh has none; name one of `data` with its "
        "option "
        "`axis`"}},
      {"AxisWithoutSums",
       kDataAndTensor,
       plan_entry("tensor") + compress("method = \"bf16\"\naxis = \"tensor\"\n"),
       {"strategy `compress`, lower: no gradient is summed along the mesh axis `tensor` alone, so nothing travels "
        "there "
        "in fewer bits; name the axis of `data` or `zero` with the option `axis`"}},
      {"SkippedByNoName",
       kData,
       compress("method = \"8bit\"\nskip = [\"hea.*\"]\n"),
       {"`skip` names `hea.*`, and no parameter that is trained is called so; take names as `"}},
  };
}

std::vector<Bad> options_of_another_method() {
  return {
      {"RankOfAnotherMethod",
       kData,
       compress("method = \"8bit\"\nrank = 8\n"),
       {"`rank` is of powersgd, and the method is 8bit; leave it out"}},
      {"GainOfAnotherMethod",
       kData,
       compress("method = \"1bit\"\nmin_gain = 8\n"),
       {"`min_gain` is of powersgd, and the method is 1bit; leave it out"}},
      {"BlockOfAnotherMethod",
       kData,
       compress("method = \"powersgd\"\nblock = 64\n"),
       {"`block` is of 8bit and 1bit, and the method is powersgd; leave it out"}},
      {"WarmupOfAnotherMethod",
       kData,
       compress("method = \"8bit\"\nwarmup_steps = 3\n"),
       {"`warmup_steps` is of 1bit and powersgd, and the method is 8bit; leave it out"}},
  };
}

std::vector<Bad> values() {
  return {
      {"OddBlock",
       kData,
       compress("method = \"8bit\"\nblock = 100\n"),
       {"`block` is 100; take a multiple of 32, such as 128"}},
      {"SmallBlock", kData, compress("method = \"1bit\"\nblock = 8\n"), {"option `block` must be"}},
      {"NoRank", kData, compress("method = \"powersgd\"\nrank = 0\n"), {"option `rank` must be"}},
      {"HalfAStep", kData, compress("method = \"1bit\"\nwarmup_steps = 2.5\n"), {"take a whole number"}},
      {"FewerThanNoElements",
       kData,
       compress("method = \"bf16\"\nmin_elements = -1\n"),
       {"option `min_elements` must be"}},
  };
}

std::vector<Bad> methods_under_tensor() {
  return {
      {"StatesUnderTensor",
       kDataAndTensor,
       plan_entry("tensor") + compress("method = \"1bit\"\nwarmup_steps = 0\n"),
       {"strategy `compress`, lower: method = \"1bit\": the gradient of `", "along `tensor` too",
        "take method = \"8bit\""}},
      {"FactorsUnderTensor",
       kDataAndTensor,
       plan_entry("tensor") + compress("method = \"powersgd\"\n"),
       {"method = \"powersgd\": the gradient of `", "take method = \"8bit\""}},
  };
}

/// Where every micro-batch is reduced there is no sum to compress: the fix is an option of the other strategy.
TEST(BadCompressTogether, EveryMicroBatch) {
  const std::string zero = plan_entry("zero", "stage = 2\n"), entry = plan_entry("compress", "method = \"8bit\"\n");
  if (!has_plugin("strategy", "zero")) GTEST_SKIP() << "no strategy `zero` in this tree";
  const auto run = [&](const std::string& plan) {
    return run_parity({"run", "--steps", "1"}, "gpt", manifest_of({{"data", 2}}, plan), {"accumulate=2"});
  };
  const ProcessResult refused = run(zero + entry);
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("give `zero` reduce_gradients = \"once_per_step\""), std::string::npos) << refused.err;
  EXPECT_EQ(run(plan_entry("zero", "stage = 2\nreduce_gradients = \"once_per_step\"\n") + entry).exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(All, BadCompress,
                         testing::ValuesIn(concatenated({names(), options_of_another_method(), values(),
                                                         methods_under_tensor()})),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
