/// \file Sums whose terms nearly cancel, where ranks round these terms, and gradients of which some elements are noise:
/// `baleen verify` calls neither different, and finds what is wrong in the same plans, a factor of two among them.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Plan {
  std::string name;
  MeshAxes mesh;
  std::string strategies, model, dtype;
  std::vector<std::string> arguments;
  std::string decides;  ///< what the report says of it
};
void PrintTo(const Plan& plan, std::ostream* out) { *out << plan.name; }

std::string sixteen_bits(const std::string& dtype) {
  return "[[plan]]\nstrategy = \"precision\"\ndtype = \"" + dtype + "\"\ngradients = \"fp32\"\nloss_scale = \"none\"\n";
}

const Plan kSumOverRanks{"SumOverRanks",
                         {{"tensor", 3}},
                         "[[plan]]\nstrategy = \"tensor\"\n" + sixteen_bits("bf16"),
                         "bags",
                         "fp32",
                         {"batch=6", "accumulate=3", "rate=linear"},
                         "the gradient of `top.down.bias` of step 2"};
const Plan kAlikeInFp16{
    "AlikeInFp16",
    {{"pipeline", 3}, {"data", 2}},
    "[[plan]]\nstrategy = \"pipeline\"\n[[plan]]\nstrategy = \"zero\"\nstage = 3\n[[plan]]\nstrategy = "
    "\"compress\"\nmethod = \"bf16\"\nmin_elements = 20\n" +
        sixteen_bits("fp16"),
    "bags",
    "fp32",
    {"batch=12", "accumulate=6", "optimizer=sgd_momentum", "rate=pieces", "clip=0.5", "decay=0.1"},
    "the gradient of `top.down.bias` of step 2"};
const Plan kNoiseAmongOthers{
    "NoiseAmongOthers",
    {{"tensor", 4}},
    "[[plan]]\nstrategy = \"tensor\"\n[[plan]]\nstrategy = \"sequence\"\nmode = \"megatron\"\n",
    "odd_heads",
    "fp64",
    {"batch=8", "accumulate=8", "optimizer=adafactor", "rate=number"},
    "for elements of their gradients are rounding noise: `blocks.1.attention.qkv.bias`"};

ProcessResult verified(const Plan& plan, const std::string& more) {
  return run_parity({"verify", "--steps", "3", "--dtype", plan.dtype, "--plugin-path", MUTANTS_FOLDER},
                    "random/newcomers/" + plan.model, manifest_of(plan.mesh, plan.strategies + more), plan.arguments);
}

class Terms : public ::testing::TestWithParam<Plan> {};

TEST_P(Terms, AreNotDifferentWhereRoundingDecides) {
  const Plan& plan = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(plan.mesh, plan.strategies)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result = verified(plan, "");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("\nEQUAL within the tolerance\n"), std::string::npos) << result.out;
  const std::size_t named = result.out.find("ill-conditioned, for ");
  ASSERT_NE(named, std::string::npos) << result.out;
  EXPECT_NE(result.out.find(plan.decides, named), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Plans, Terms, ::testing::Values(kSumOverRanks, kAlikeInFp16, kNoiseAmongOthers),
                         [](const auto& info) { return info.param.name; });

struct TermsFault {
  std::string name;
  Plan plan;
  std::string damage, of, says;
};
void PrintTo(const TermsFault& fault, std::ostream* out) { *out << fault.name; }

class FaultsBesideTerms : public ::testing::TestWithParam<TermsFault> {};

TEST_P(FaultsBesideTerms, AreFound) {
  const auto& [name, plan, damage, of, says] = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(plan.mesh, plan.strategies)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result =
      verified(plan, "[[plan]]\nstrategy = \"mutant\"\ndamage = \"" + damage + "\"\nof = \"" + of + "\"\n");
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("one rank computes: see " + says), std::string::npos) << result.err;
}

const std::string kWeight = "top.down.weight", kBias = "top.down.bias", kKeys = "blocks.1.attention.qkv.bias";

INSTANTIATE_TEST_SUITE_P(
    Mutants, FaultsBesideTerms,
    ::testing::Values(
        TermsFault{"ADoubledBias", kSumOverRanks, "doubled", kBias, "the gradient of `top.down.bias` of step "},
        TermsFault{"ADoubledWeight", kSumOverRanks, "doubled", kWeight, "the gradient of `top.down.weight` of step 1"},
        TermsFault{"AMeanTakenTwice", kSumOverRanks, "twice", kWeight, "the gradient of `top.down.weight` of step 1"},
        TermsFault{"AnUpdate", kSumOverRanks, "parameter", kBias, "parameter `top.down.bias` after step "},
        TermsFault{"ADoubledBiasInFp16", kAlikeInFp16, "doubled", kBias, "the gradient of `top.down.bias` of step "},
        TermsFault{"ADoubledWeightInFp16", kAlikeInFp16, "doubled", kWeight,
                   "the gradient of `top.down.weight` of step 1"},
        TermsFault{"AMeanTakenTwiceInFp16", kAlikeInFp16, "twice", kWeight,
                   "the gradient of `top.down.weight` of step 1"},
        TermsFault{"ADoubledGradientWithNoise", kNoiseAmongOthers, "doubled", kKeys,
                   "the gradient of `blocks.1.attention.qkv.bias` of step 1"},
        TermsFault{"AnUpdateWithNoise", kNoiseAmongOthers, "parameter", kKeys,
                   "parameter `blocks.1.attention.qkv.bias` after step 1"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
