/// \file A rank is lost while others wait for it in a collective that is staged: they end, and say who it was.
#include <gtest/gtest.h>

#include <csignal>

#include "fault/launch/rank_job.hpp"
#include "fault/launch/training_job.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kForEver = 1'000'000'000;

class StagedTraining : public testing::TestWithParam<std::string> {
 protected:
  const TemporaryFolder folder_;

  std::vector<std::string> command() const {
    const std::string manifest = folder_.write(
        "ranks.toml",
        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 3 }]\n[mesh]\ndata = 3\n[compute]\nplugin = \"cuda\"\n"
        "libraries = [\"" EMULATED_FOLDER "\"]\ncache = \"" EMULATED_FOLDER "/cache\"\n[transport]\nplugin = \"" +
            GetParam() + "\"\n[[plan]]\nstrategy = \"zero\"\nstage = 3\n");
    return {BALEEN_BUILD_DIR "/bin/baleen",
            "run",
            BALEEN_SOURCE_DIR "/tests/parity/mlp.lua",
            "--manifest",
            manifest,
            "--steps",
            std::to_string(kForEver),
            "--",
            "--batch=26"};
  }
};
INSTANTIATE_TEST_SUITE_P(Over, StagedTraining, testing::Values("shm", "ucx"),
                         [](const auto& over) { return over.param; });

TEST_P(StagedTraining, EndsWhenARankIsKilled) {
  for (const int rank : {0, 2}) {
    RunningJob job(command());
    ASSERT_TRUE(job.prints("step 1/", 1, std::chrono::minutes(4))) << job.err();
    const pid_t victim = find_rank(job, rank);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(::kill(victim, SIGSTOP), 0);  // within a second the others are in a collective and wait for it
    std::this_thread::sleep_for(seconds(1));
    const auto start = steady_clock::now();
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    EXPECT_EQ(job.ends(), 4) << job.err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); })) << "an orphan is left";
    EXPECT_LT(steady_clock::now() - start, seconds(5));
    const Lines lines = lines_of(job.err());
    ASSERT_EQ(lines.size(), 1u) << job.err();
    EXPECT_TRUE(lines[0].starts_with("error: rank " + std::to_string(rank))) << lines[0];
    EXPECT_NE(lines[0].find(": killed by SIGKILL"), std::string::npos) << lines[0];
  }
}

}  // namespace
}  // namespace baleen::test
