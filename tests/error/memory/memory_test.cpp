/// \file Memory and threads that run out, wherever in a run, are a limit of the machine: exit code 3, and never a bug.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "support/process.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr int kDoesNotFit = 3;

/// From what starts a rank to what is enough for a small job.
class LittleMemory : public testing::Test {
 protected:
  ProcessResult run(int kilobytes, const std::vector<std::string>& more) const {
    std::vector<std::string> words{
        "bash", "-c",   "ulimit -v $0; exec \"$@\"", std::to_string(kilobytes), build_dir() + "/bin/baleen",
        "run",  script_};
    words.insert(words.end(), more.begin(), more.end());
    return run_process(words);
  }
  /// Every limit ends well or with a line that says what is missing, and another one where a rank had no memory to tell
  /// its launcher. Returns how many runs were refused.
  int refused(const std::vector<std::string>& more) const {
    int count = 0;
    std::mt19937_64 random(seed());
    for (int megabytes = 54; megabytes <= 80; megabytes += 2) {
      const int kilobytes = megabytes * 1000 + static_cast<int>(random() % 2000);
      const ProcessResult result = run(kilobytes, more);
      if (result.exit_code == 0) continue;
      ++count;
      EXPECT_EQ(result.exit_code, kDoesNotFit) << kilobytes << " KB: " << result.err;
      EXPECT_NE(result.err.find("error: "), std::string::npos) << kilobytes << " KB: " << result.err;
      std::istringstream lines(result.err);
      int said = 0;
      for (std::string line; std::getline(lines, line); ++said)
        EXPECT_NE(line.find("memory"), std::string::npos) << kilobytes << " KB: " << result.err;
      EXPECT_LE(said, 3) << kilobytes << " KB: " << result.err;
    }
    return count;
  }

  const TemporaryFolder folder_;
  const std::string script_ = folder_.write(
      "train.lua",
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } },\n"
      "  held_out = 0 }\n"
      "return baleen.job { model = nn.linear { out = points.classes }, data = points, batch = 4, steps = 2,\n"
      "  loss = nn.cross_entropy {}, optimizer = baleen.optimizer('sgd') }\n");
};

TEST_F(LittleMemory, OfTwoRanksIsNoBug) {
  EXPECT_GT(refused({"--set", "mesh.data=2", "--set", "transport.plugin=shm", "--set", "compute.threads=1"}), 0);
}
/// Some threads of the pool are there already.
TEST_F(LittleMemory, OfManyThreadsIsNoBug) { EXPECT_GT(refused({"--set", "compute.threads=16"}), 0); }

/// Nothing catches what a thread of a plugin's own throws.
TEST(MemoryOfAThread, IsNoBugWhenItRunsOut) {
  const TemporaryFolder folder;
  const std::string script = folder.write(
      "train.lua",
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "return baleen.job { model = nn.linear { out = 2 }, data = baleen.data.starves {}, batch = 4, steps = 2,\n"
      "  loss = nn.cross_entropy {}, optimizer = baleen.optimizer('sgd') }\n");
  for (const char* ranks : {"1", "2"}) {
    const ProcessResult result = run_process({build_dir() + "/bin/baleen", "run", script, "--plugin-path",
                                              STARVES_FOLDER, "--set", "mesh.data=" + std::string(ranks)});
    EXPECT_EQ(result.exit_code, kDoesNotFit) << result.err;
    EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
    EXPECT_TRUE(result.err.ends_with("out of memory\n")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

}  // namespace
}  // namespace baleen::test
