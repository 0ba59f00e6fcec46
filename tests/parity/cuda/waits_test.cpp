/// \file How often the host waits for the device while it trains: once where it has to know whether a step has gone
/// wrong before the update, and once at the end. Times of its parts are the device's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cuda_run.hpp"

namespace baleen::test {
namespace {

class Waits : public testing::Test {
 protected:
  struct Outcome {
    std::ptrdiff_t waits = 0;
    std::string log;
  };
  static Outcome run(int steps, const MeshAxes& mesh, const std::string& sections) {
    const TemporaryFolder folder;
    const std::string log = folder / "log.jsonl", device = folder / "device.txt";
    setenv("EMULATED_CUDA_WAITS", device.c_str(), 1);
    const ProcessResult result = run_parity({"run", "--steps", std::to_string(steps), "--log-json", log}, "gpt",
                                            manifest_of(mesh, kEmulated + sections), kSmallGpt);
    unsetenv("EMULATED_CUDA_WAITS");
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    Outcome outcome{0, read_file(log)};
    const std::string told = read_file(device), line = "a stream was waited for";
    for (std::size_t at = 0; (at = told.find(line, at)) != std::string::npos; ++at) ++outcome.waits;
    return outcome;
  }
  /// Of each step but the first two, on all ranks together.
  static double per_step(const MeshAxes& mesh, const std::string& sections) {
    constexpr int kSteps = 4;
    return static_cast<double>(run(2 + kSteps, mesh, sections).waits - run(2, mesh, sections).waits) / kSteps;
  }
};

/// A schedule's value, a batch and what is shown of the step are moved without one of their own.
TEST_F(Waits, AreTwoAStep) { EXPECT_EQ(per_step({{"data", 1}}, ""), 2); }

/// The loss' scale leaves steps out by itself.
TEST_F(Waits, AreOneAStepWhereTheDeviceLeavesStepsOut) {
  EXPECT_EQ(per_step({{"data", 1}}, "[[plan]]\nstrategy = \"precision\"\ndtype = \"fp16\"\n"), 1);
}

/// Each with one for the stream on which signals are raised beside the program's.
TEST_F(Waits, AreTwoAStepOfEachRank) {
  EXPECT_EQ(per_step({{"data", 2}}, "[transport]\nplugin = \"shm\"\n[[plan]]\nstrategy = \"data\"\n"), 2 * 2 * 2);
}

TEST_F(Waits, AreNotNeededToTimePartsOfAStep) {
  const std::string log = run(5, {{"data", 1}}, "").log;
  const std::vector<double> whole = steps_in(log, "step_ms");
  ASSERT_EQ(whole.size(), 5u);
  std::vector<double> parts(5, 0.0);
  for (const char* part : {"forward_ms", "backward_ms", "update_ms"}) {
    const std::vector<double> own = steps_in(log, part);
    ASSERT_EQ(own.size(), 5u) << part;
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_GT(own[i], 0) << part;
      parts[i] += own[i];
    }
  }
  for (std::size_t i = 0; i < 5; ++i) EXPECT_LE(parts[i], whole[i]);
}

}  // namespace
}  // namespace baleen::test
