/// \file `baleen verify` against strategies that are wrong on several ranks: it names what first differs.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

const std::string kData = "strategy = \"data\"\n", kZero = "strategy = \"zero\"\nstage = 2\n",
                  kBf16 = kZero + "[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n";
const std::string kPower = kData + "[[plan]]\nstrategy = \"compress\"\nmethod = \"powersgd\"\nmin_elements = 64\n",
                  kBytes = kData + "[[plan]]\nstrategy = \"compress\"\nmethod = \"8bit\"\nmin_elements = 64\n";
const std::vector<std::string> kFp32{"--dtype", "fp32"};

struct Case {
  std::string name;
  std::string mutant;        ///< options of the strategy
  std::string says;          ///< what differs; empty: nothing
  std::string cause = {};    ///< a part of what is said of it
  std::string plan = kData;  ///< beside it
  std::vector<std::string> command = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class Verify : public ::testing::TestWithParam<Case> {};

TEST_P(Verify, NamesWhatFirstDiffers) {
  const Case& c = GetParam();
  const std::string plan = "[[plan]]\n" + c.plan + "[[plan]]\nstrategy = \"mutant\"\n" + c.mutant;
  std::vector<std::string> command{"verify", "--plugin-path", MUTANTS_FOLDER};
  command.insert(command.end(), c.command.begin(), c.command.end());
  const ProcessResult result = run_parity(command, "gpt", manifest_of({{"data", 2}}, plan), {"layers=1", "dim=12"});
  const bool equal = c.says.empty();
  EXPECT_EQ(result.exit_code, equal ? 0 : 2) << result.out << result.err;
  EXPECT_NE(result.out.find("20 steps in "), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("EQUAL within the tolerance") != std::string::npos, equal) << result.out;
  EXPECT_EQ(result.out.find("DIFFERENT") != std::string::npos, !equal) << result.out;
  const std::string said = "the ranks do not compute what one rank computes: see ";
  const std::size_t at = result.err.find(said + c.says);
  EXPECT_EQ(at == std::string::npos, equal) << result.err;
  EXPECT_NE(result.err.find(c.cause, equal ? 0 : at), std::string::npos) << result.err;
}

std::string of(const std::string& damage, const std::string& name, int step = 0) {
  return "damage = \"" + damage + "\"\nof = \"" + name + "\"\nstep = " + std::to_string(step) + "\n";
}

// NOLINTNEXTLINE(*function-size): a table
std::vector<Case> cases() {
  // The first sum of that name is the bias's.
  const std::string sum = "blocks.0.mlp.up.grad";
  const std::string weight = "blocks.0.mlp.up.weight", up = "parameter `" + weight + "` after step ";
  const std::string bias = "the gradient of `blocks.0.mlp.up.bias` of step ", unlike = "along `data`: a sum or a copy";
  const std::string gradient = "the gradient of `" + weight + "` of step ",
                    half = "it is 0.5 times what one rank has, as if";
  return {
      {"Nothing", "", ""},
      {"ASkippedStep", "skip = 5\n", "the update of step 5, which the ranks left out"},
      {"ASkippedStepInFp32",
       "skip = 5\n",
       "the update of step 5, which the ranks left out",
       "",
       kData,
       {"--dtype", "fp32"}},
      {"NothingWithAFlagOfEarlierVersions", "", "", "", kData, {"--checked"}},
      {"NothingInFp32", "", "", "", kData, {"--dtype", "fp32"}},
      {"NothingOfAStrategyThatKeepsATensor", "keeps = true\n", ""},
      {"NothingOfAStrategyThatKeepsATensorInFp32", "keeps = true\n", "", "", kData, {"--dtype", "fp32"}},
      {"AnOptimizerStateBesideATensorOfTheStrategy", "keeps = true\n" + of("state", weight + ".m", 7),
       "state `" + weight + ".m` after step 7 ("},
      {"AGradientDoubledOnOneRankToo", of("doubled", weight, 2), gradient + "2 (", "it is 2 times what one rank has"},
      {"ADroppedSum", of("drop", sum), bias + "1 (", unlike},
      {"ADroppedSumInStepSeven", of("drop", sum, 7), bias + "7 (", unlike},
      {"ADroppedSumInTheLastStep", of("drop", sum, 20), bias + "20 (", unlike},
      {"AMeanTakenTwice", of("twice", weight), gradient + "1 (", half},
      {"AMeanTakenTwiceInTheLastStep", of("twice", weight, 20), gradient + "20 (", half},
      {"AMeanTakenTwiceInFp32", of("twice", weight), gradient + "1 (", half, kData, {"--dtype", "fp32"}},
      {"AnOptimizerState", of("state", weight + ".m", 7), "state `" + weight + ".m` after step 7 ("},
      {"AnOptimizerStateInTheLastStep", of("state", weight + ".v", 20), "state `" + weight + ".v` after step 20 ("},
      {"ASkippedStepThatDamages", "skip = 5\n" + of("parameter", weight, 5), up + "5 ("},
      {"ASkippedLastStepThatDamages", "skip = 20\n" + of("parameter", weight, 20), up + "20 ("},
      // An update in fp32 is as exact as its rounding, whatever its gradients are.
      {"AnOptimizerStateInFp32", of("state", weight + ".m", 7), "state `" + weight + ".m` after step 7 (",
       "allowed); made from the same gradients", kData, kFp32},
      {"AnOptimizerStateInTheLastStepInFp32", of("state", weight + ".v", 20),
       "state `" + weight + ".v` after step 20 (", "", kData, kFp32},
      {"AFewTenThousandthsOfAParameterInFp32", "by = 3e-4\n" + of("parameter", weight, 9), up + "9 (", "", kData,
       kFp32},
      {"ASkippedStepThatDamagesInFp32", "skip = 5\n" + of("parameter", weight, 5), up + "5 (",
       "there was nothing to change", kData, kFp32},
      {"ASkippedLastStepThatDamagesInFp32", "skip = 20\n" + of("parameter", weight, 20), up + "20 (", "", kData, kFp32},
      {"AReplicaInTheLastStep", of("replica", weight, 20), up + "20 on rank 1 (", unlike},
#ifdef BALEEN_TEST_ZERO
      {"NothingOfShards", "", "", "", kZero},
      {"AMeanTakenTwiceOfShards", of("twice", weight, 3), gradient + "3 (", half, kZero},
      {"NothingOfShardsInBf16", "", "", "", kBf16, kFp32},
      {"ASkippedStepOfShardsInBf16", "skip = 5\n", "the update of step 5, which the ranks left out", "", kBf16, kFp32},
      {"AnOptimizerStateOfShardsInBf16", of("state", weight + ".m", 20), "state `" + weight + ".m` after step 20 (", "",
       kBf16, kFp32},
      {"AFewTenThousandthsOfAParameterInBf16", "by = 3e-4\n" + of("parameter", weight, 9), up + "9 (", "", kBf16,
       kFp32},
      {"AnOptimizerStateOfShards", of("state", weight + ".m", 20), "state `" + weight + ".m` after step 20 (", "",
       kZero},
#endif
#ifdef BALEEN_TEST_COMPRESS
      // Beside gradients that are approximated.
      {"NothingOfCompressedGradients", "", "", "", kPower, kFp32},
      {"AnOptimizerStateOfCompressedGradients", of("state", weight + ".m", 7),
       "state `" + weight + ".m` after step 7 (", "", kPower, kFp32},
      {"AParameterOfCompressedGradients", of("parameter", weight, 20), up + "20 (", "", kPower, kFp32},
      {"AMeanTakenTwiceOfBytes", of("twice", weight, 3), gradient + "3 (", "", kBytes, kFp32},
#endif
      {"Evaluation", of("evaluation", ""), "held_out_loss after step 10 ("},
      {"EvaluationInFp32", of("evaluation", ""), "held_out_loss after step 10 (", "", kData, {"--dtype", "fp32"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Mutants, Verify, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
