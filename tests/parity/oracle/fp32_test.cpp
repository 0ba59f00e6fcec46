/// \file N ranks compute what one rank computes in fp32 and in 16 bits too, as users run: `baleen verify --dtype fp32`,
/// with its bounds for losses, evaluations, gradients and updates.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string name;
  MeshAxes mesh;
  std::string plan;  ///< strategies with their options, a line each: "zero, stage = 2"
  std::string dtype = "fp32";
  std::vector<std::string> arguments = {"heads=4"};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string entries(const std::string& plan) {
  std::string text;
  std::istringstream lines(plan);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comma = line.find(", ");
    text += "[[plan]]\nstrategy = \"" + line.substr(0, comma) + "\"\n";
    if (comma != std::string::npos) text += line.substr(comma + 2) + "\n";
  }
  return text;
}

class InFp32 : public ::testing::TestWithParam<Case> {};

TEST_P(InFp32, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  const std::string manifest = manifest_of(c.mesh, entries(c.plan));
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult result = run_parity({"verify", "--dtype", "fp32"}, "gpt", manifest, c.arguments);
  expect_equal(result, 20, c.dtype);
  for (const char* judged : {"losses", "evaluations", "gradients", "parameters as updated from the same gradients",
                             "optimizer states as updated from the same gradients"})
    EXPECT_NE(result.out.find("largest difference of " + std::string(judged)), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("updates are judged in"), std::string::npos) << "not all: " << result.out;
  // Beside limits that follow from rounding, a fixed one: 20 steps of fp32 do not part further.
  const std::string key = "largest difference of losses: ";
  if (const std::size_t at = result.out.find(key); c.dtype == "fp32" && at != std::string::npos) {
    EXPECT_LE(std::stod(result.out.substr(at + key.size())), 1e-4) << result.out;
  }
}

const std::vector<std::string> kMore{"heads=4", "accumulate=2", "clip=0.5", "dropout=0.2", "masked=101", "tied"};
const std::string kBf16 = "precision, dtype = \"bf16\"", kFp16 = "precision, dtype = \"fp16\"";

INSTANTIATE_TEST_SUITE_P(
    Strategies, InFp32,
    ::testing::Values(Case{"Data", {{"data", 3}}, "data", "fp32", kMore},
                      Case{"Zero1", {{"data", 2}}, "zero, stage = 1"},
                      Case{"Zero2", {{"data", 4}}, "zero, stage = 2", "fp32", kMore},
                      Case{"Zero3", {{"data", 2}}, "zero, stage = 3", "fp32", kMore},
                      Case{"Tensor1d", {{"tensor", 2}}, "tensor", "fp32", kMore},
                      Case{"Tensor2d", {{"tensor", 4}}, "tensor, mode = \"2d\""},
                      Case{"Ulysses", {{"sequence", 2}}, "sequence", "fp32", kMore},
                      Case{"Ring", {{"sequence", 3}}, "sequence, mode = \"ring\""},
                      Case{"Zero3Tensor1d", {{"data", 2}, {"tensor", 2}}, "zero, stage = 3\ntensor"},
                      Case{"DataBf16", {{"data", 2}}, "data\n" + kBf16, "bf16"},
                      Case{"Zero2Fp16", {{"data", 2}}, "zero, stage = 2\n" + kFp16, "fp16"},
                      Case{"Tensor1dBf16", {{"tensor", 2}}, "tensor\n" + kBf16, "bf16"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
