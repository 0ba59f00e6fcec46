/// \file Launches kept as CUDA graphs: the same bits as one by one, with random numbers of each step, over several
/// ranks.
#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda_run.hpp"

namespace baleen::test {
namespace {

class Graphs : public testing::Test {
 protected:
  const TemporaryFolder folder_;

  struct Outcome {
    std::vector<double> losses;
    std::string checkpoint;
    std::string device;  ///< a line per graph that was launched, among others
  };
  /// Ten steps; `options`: of the plugin; `sections`: behind them.
  Outcome run(const MeshAxes& mesh, const std::string& options, const std::string& sections,
              const std::string& environment = {}) const {
    const TemporaryFolder folder;
    const std::string log = folder / "log.jsonl", file = folder / "end.safetensors", device = folder / "device.txt";
    setenv("EMULATED_CUDA_LOG", device.c_str(), 1);
    if (!environment.empty()) setenv(environment.c_str(), "0", 1);
    const ProcessResult result = run_parity({"run", "--steps", "10", "--log-json", log, "--save", file}, "gpt",
                                            manifest_of(mesh, kEmulated + options + sections), kSmallGpt);
    unsetenv("EMULATED_CUDA_LOG");
    if (!environment.empty()) unsetenv(environment.c_str());
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return {steps_in(read_file(log), "loss"), read_file(file), read_file(device)};
  }
  static std::size_t launched(const Outcome& outcome) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = outcome.device.find("graph of ", at)) != std::string::npos; ++at) ++count;
    return count;
  }
  static void expect_same(const Outcome& a, const Outcome& b) {
    ASSERT_EQ(a.losses.size(), 10u);
    EXPECT_EQ(a.losses, b.losses);
    EXPECT_EQ(a.checkpoint, b.checkpoint);
  }
};

TEST_F(Graphs, ChangeNoBit) {
  const Outcome with = run({{"data", 1}}, "", ""), without = run({{"data", 1}}, "graphs = false\n", "");
  expect_same(with, without);
  EXPECT_GE(launched(with), 2u * 2u * 9u);  // forward and backward of two micro-batches, in all steps but the first
  EXPECT_EQ(launched(without), 0u);
  EXPECT_NE(with.losses[8], with.losses[9]);
}

/// Between collectives, which are the host's business.
TEST_F(Graphs, ChangeNoBitOverRanks) {
  const std::string plan = "[transport]\nplugin = \"shm\"\n[[plan]]\nstrategy = \"zero\"\nstage = 3\n";
  const Outcome with = run({{"data", 2}}, "", plan), without = run({{"data", 2}}, "graphs = false\n", plan);
  expect_same(with, without);
  EXPECT_GE(launched(with), 2u * 9u);
  EXPECT_EQ(launched(without), 0u);
}

/// A library may do what a capture forbids.
TEST_F(Graphs, AreDoneWithoutWhereLaunchesCannotBeKept) {
  const Outcome refused = run({{"data", 1}}, "", "", "EMULATED_CUDA_GRAPHS");
  expect_same(refused, run({{"data", 1}}, "graphs = false\n", ""));
  EXPECT_EQ(launched(refused), 0u);
}

TEST_F(Graphs, AreLeftOutWhereEveryLaunchIsWaitedFor) {
  EXPECT_EQ(launched(run({{"data", 1}}, "checked = true\n", "")), 0u);
}

}  // namespace
}  // namespace baleen::test
