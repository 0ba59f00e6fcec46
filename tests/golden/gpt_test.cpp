/// \file Ten losses of a small GPT agree with PyTorch's, from the same initial parameters (gpt_losses.py).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/process.hpp"
#include "support/run_log.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr double kTolerance = 1e-4;
const std::string kFolder = source_dir() + "/tests/golden";

/// From step 1 on.
ByStep golden_losses() {
  ByStep losses;
  std::ifstream file(kFolder + "/gpt_losses.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::int64_t step = 0;
    std::istringstream(line) >> step >> losses[step];
  }
  return losses;
}

TEST(Golden, TenLossesOfASmallGptAgreeWithPyTorch) {
  const TemporaryFolder folder;
  const ProcessResult run = run_baleen({"run", kFolder + "/gpt.lua", "--seed", "1", "--log-json", folder / "log.jsonl",
                                        "--", "--data", kFolder + "/whales.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const ByStep expected = golden_losses(), actual = by_step(read_file(folder / "log.jsonl"), "step", "loss");
  ASSERT_EQ(expected.size(), 10u);
  ASSERT_EQ(actual.size(), 10u) << run.out;
  for (const auto& [step, loss] : expected) {
    ASSERT_TRUE(actual.contains(step)) << "no record of step " << step;
    EXPECT_NEAR(actual.at(step), loss, kTolerance) << "step " << step;
  }
}

}  // namespace
}  // namespace baleen::test
