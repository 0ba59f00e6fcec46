/// \file The main job of the README (examples/02_gpt on two ranks, on this machine's C++ headers) ends where PyTorch's
/// three seeds end (main_job.txt). Slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "support/process.hpp"
#include "support/run_log.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr const char* kText = "/usr/include/c++";

/// PyTorch's held-out losses over the batches of the example, one per seed.
std::vector<double> golden_losses() {
  std::vector<double> losses;
  std::istringstream file(read_file(source_dir() + "/tests/golden/main_job.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    double seed = 0, all = 0, spread = 0;
    std::istringstream(line) >> seed >> all >> spread;
    losses.push_back(spread);
  }
  return losses;
}

TEST(MainJob, EndsWherePyTorchEnds) {
  const std::vector<double> golden = golden_losses();
  ASSERT_EQ(golden.size(), 3u);
  ASSERT_TRUE(std::filesystem::exists(kText)) << "the compiler that built this has its headers elsewhere";
  const TemporaryFolder folder;
  ProcessOptions options;
  options.limit = std::chrono::minutes(40);
  const ProcessResult run = run_baleen(
      {"run", source_dir() + "/examples/02_gpt/train.lua", "--manifest", source_dir() + "/examples/clusters/two.toml",
       "--log-json", folder / "log.jsonl", "--save", folder / "gpt.safetensors"},
      options);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const double last = by_step(read_file(folder / "log.jsonl"), "evaluate", "held_out_loss")[1000];  // or 0
  RecordProperty("held_out_loss", std::to_string(last));
  std::printf("held-out loss %.4f\n", last);
  // Of three seeds the worst, and as far again from it as they lie apart: 1.65. Below all of them by more is no luck
  // either.
  const auto [least, most] = std::minmax_element(golden.begin(), golden.end());
  EXPECT_LT(last, *most + (*most - *least));
  EXPECT_GT(last, *least - 2 * (*most - *least));
  EXPECT_LT(last, 1.64) << "as the README says";
}

}  // namespace
}  // namespace baleen::test
