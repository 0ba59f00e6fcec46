/// \file However a save is broken off, the checkpoint before it or the new one loads and the run goes on to the same
/// end.
#include <cerrno>

#include "fault/checkpoint/interrupted_saves.hpp"

namespace baleen::test {
namespace {

using Saves = InterruptedSaves;

TEST_P(Saves, ThatAreKilledAtAnyCallLoseNothing) {
  const long calls = calls_of_a_run();
  ASSERT_GT(calls, 30);
  for (const long n : ours(calls, 1)) {
    const ProcessResult killed = train(at("kill", n));
    EXPECT_NE(killed.exit_code, 0) << "call " << n;
    expect_to_go_on("killed at call " + std::to_string(n) + " of " + std::to_string(calls) + ": ");
  }
}

TEST_P(Saves, ThatAPowerCutEndsLoseNothing) {
  const long calls = calls_of_a_run();
  for (const long n : ours(calls, 1)) {
    train(at("cut", n));
    expect_to_go_on("cut at call " + std::to_string(n) + " of " + std::to_string(calls) + ": ");
  }
}

/// No space, an error of the disk, a file system that became read-only: told with the path, and what was there stays.
TEST_P(Saves, ThatFailAreToldAndTheRunGoesOn) {
  const long calls = calls_of_a_run();
  for (const int reason : {ENOSPC, EIO, EROFS})
    for (const long n : ours(calls, 4)) {
      const std::string trace = std::string(std::strerror(reason)) + " at call " + std::to_string(n) + ": ";
      const ProcessResult failed = train(at(std::to_string(reason), n));
      if (failed.exit_code != 0) {  // where it was the folder itself, or the last save
        EXPECT_EQ(failed.exit_code, 2) << trace << failed.err;
        EXPECT_NE(failed.err.find(kept), std::string::npos) << trace << failed.err;
      }
      if (failed.err.find("was not saved (") != std::string::npos) {
        EXPECT_NE(failed.err.find(std::strerror(reason)), std::string::npos) << trace << failed.err;
      }
      expect_to_go_on(trace);
    }
}
INSTANTIATE_TEST_SUITE_P(Of, Saves, testing::Combine(testing::Values(1, 2), testing::Range(0, 6)), part_name);

}  // namespace
}  // namespace baleen::test
