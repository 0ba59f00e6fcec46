/// \file Held-out losses of a small GPT agree with PyTorch's (evaluation.py): over all rows, over some batches that
/// are spread evenly, and weighted where tokens do not count; on one rank and on several.
#include <gtest/gtest.h>

#include <sstream>

#include "support/process.hpp"
#include "support/run_log.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

const std::string kFolder = source_dir() + "/tests/golden";

struct Golden {
  std::string name;
  int batches = 0, ignored = 0;
  ByStep losses;
};

void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.name; }

std::vector<Golden> golden_losses() {
  std::vector<Golden> all;
  std::istringstream file(read_file(kFolder + "/evaluation.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    Golden golden;
    std::istringstream(line) >> golden.name >> golden.batches >> golden.ignored >> golden.losses[5] >>
        golden.losses[10];
    all.push_back(std::move(golden));
  }
  return all;
}

class Evaluation : public testing::TestWithParam<Golden> {
 protected:
  static void expect_golden(const std::vector<std::string>& more, double tolerance) {
    const Golden& golden = GetParam();
    const TemporaryFolder folder;
    std::vector<std::string> words{"run",        kFolder + "/evaluation.lua", "--seed", "1",
                                   "--log-json", folder / "log.jsonl"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--data", kFolder + "/whales.txt", "--batches=" + std::to_string(golden.batches),
                               "--ignored=" + std::to_string(golden.ignored)});
    const ProcessResult run = run_baleen(words);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    ByStep losses = by_step(read_file(folder / "log.jsonl"), "evaluate", "held_out_loss");
    ASSERT_EQ(losses.size(), golden.losses.size()) << run.out;
    for (const auto& [step, loss] : golden.losses) EXPECT_NEAR(losses[step], loss, tolerance) << "step " << step;
  }
};

TEST_P(Evaluation, AgreesWithPyTorchInFp64) { expect_golden({"--dtype", "fp64"}, 1e-6); }
TEST_P(Evaluation, AgreesWithPyTorchInFp32) { expect_golden({"--dtype", "fp32"}, 1e-5); }
/// Batches of 5 on 2 and 3 ranks: pieces of unlike sizes, of unlike weights where tokens do not count.
TEST_P(Evaluation, AgreesWithPyTorchOnSeveralRanks) {
  expect_golden({"--dtype", "fp64", "--set", "mesh.data=2"}, 1e-6);
  expect_golden({"--dtype", "fp64", "--set", "mesh.data=3"}, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Golden, Evaluation, testing::ValuesIn(golden_losses()),
                         [](const auto& info) { return info.param.name; });

TEST(EvaluationFile, HasLossesThatTellItsCasesApart) {
  const std::vector<Golden> all = golden_losses();
  ASSERT_EQ(all.size(), 4u);
  for (const Golden& a : all)
    for (const Golden& b : all) {
      if (a.name == b.name) continue;
      EXPECT_GT(std::abs(a.losses.at(10) - b.losses.at(10)), 1e-4) << a.name << ", " << b.name;
    }
}

}  // namespace
}  // namespace baleen::test
