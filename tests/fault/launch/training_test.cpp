/// \file `baleen run` on several ranks: mistakes are told once, lost ranks are named, nothing is left behind.
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <regex>

#include "rank_job.hpp"
#include "support/promise.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr int kForEver = 1'000'000'000;

class Training : public testing::TestWithParam<int> {
 protected:
  std::unique_ptr<RunningJob> job;
  std::set<std::string> memory_before = shared_memory_names();

  void train() {
    job = std::make_unique<RunningJob>(training(kRanks, kForEver));
    ASSERT_TRUE(job->prints("step 1/")) << job->err();
  }
  /// Sends the signal to a rank (-1: to the launcher). Returns the seconds until everything has ended.
  double expect_end(int rank, int signal, int code) {
    const pid_t victim = rank < 0 ? job->leader() : find_rank(*job, rank);
    EXPECT_GT(victim, 0);
    if (victim <= 0) return 0;
    const auto start = steady_clock::now();
    EXPECT_EQ(::kill(victim, signal), 0);
    EXPECT_EQ(job->ends(), code) << job->err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job->processes().empty(); })) << "an orphan is left";
    const double took = seconds_since(start);
    EXPECT_EQ(shared_memory_left(memory_before), std::set<std::string>());
    return took;
  }
  /// The loss of the rank of this test ends a training, with one line.
  void expect_loss(int signal, steady_clock::duration promise, const std::string& what) {
    expect_kept(promise, [&] {
      train();
      const double took = expect_end(GetParam(), signal, 4);
      EXPECT_EQ(lines_of(job->err()).size(), 1u) << job->err();
      EXPECT_TRUE(job->err().starts_with("error: rank " + std::to_string(GetParam()))) << job->err();
      EXPECT_NE(job->err().find(what), std::string::npos) << job->err();
      return took;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(OfRank, Training, testing::Values(0, 1, 2));

TEST_P(Training, EndsWhenARankIsKilled) { expect_loss(SIGKILL, seconds(3), ": killed by SIGKILL"); }

TEST_P(Training, EndsWhenARankIsStopped) { expect_loss(SIGSTOP, seconds(5), ": stopped by a signal"); }

TEST_P(Training, GoesOnWhenARankPauses) {
  train();
  const pid_t process = find_rank(*job, GetParam());
  ASSERT_GT(process, 0);
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  std::this_thread::sleep_for(seconds(1));
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  std::this_thread::sleep_for(seconds(3));  // longer than the silence that is allowed
  EXPECT_EQ(job->err(), "");
  expect_end(-1, SIGTERM, 128 + SIGTERM);
  EXPECT_EQ(job->err(), "");
}

/// Ctrl-Z and `fg`, as a shell with job control sends them.
TEST_F(Training, StopsWithItsLauncherAndGoesOnWithIt) {
  train();
  const pid_t rank = find_rank(*job, 1);
  ASSERT_GT(rank, 0);
  ASSERT_EQ(::kill(job->leader(), SIGTSTP), 0);
  EXPECT_TRUE(holds_within(seconds(5), [&] { return state_of(rank) == 'T' && state_of(job->leader()) == 'T'; }));
  std::this_thread::sleep_for(seconds(3));  // longer than the silence that is allowed
  ASSERT_EQ(::kill(job->leader(), SIGCONT), 0);
  EXPECT_TRUE(holds_within(seconds(5), [&] { return state_of(rank) != 'T'; }));
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(job->err(), "");
  expect_end(-1, SIGTERM, 128 + SIGTERM);
  EXPECT_EQ(job->err(), "");
}

TEST_F(Training, EndsWithItsLauncher) {
  train();
  expect_end(-1, SIGKILL, 128 + SIGKILL);
}

TEST_F(Training, EndsByASignalAsOneProcessDoes) {
  train();
  expect_end(-1, SIGINT, 128 + SIGINT);
  EXPECT_EQ(job->err(), "");
}

class ScriptOnRanks : public testing::Test {
 protected:
  TemporaryFolder folder;

  void expect_refused(const std::string& script, int code, const std::string& message) {
    expect_refusal(run_process(baleen_run(folder.write("train.lua", script), kRanks)),
                   {.exit_code = code, .whole = message, .before = Before::kNothing});
  }
};

TEST_F(ScriptOnRanks, SaysItsMistakeOnce) {
  expect_refused("local x = 1\nerror('no such luck')\n", 2, (folder / "train.lua") + ":2: no such luck");
  expect_refused("local x = = 1\n", 2, (folder / "train.lua") + ":1: unexpected symbol near '='");
}

TEST_F(ScriptOnRanks, IsMissedBeforeAnyRankStarts) {
  expect_refusal(run_process(baleen_run(folder / "absent.lua", kRanks)),
                 {.whole = (folder / "absent.lua") + ": no such script"});
}

/// Whether the header of a run has this line.
bool header_says(const std::string& out, const std::string& key, const std::string& value) {
  return std::regex_search(out, std::regex("\n  " + key + " +" + value + "\n"));
}

TEST(ThreadsOfRanks, AreTheirShareOrTheUsersNumber) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  const std::string share = std::to_string(std::max(1, CPU_COUNT(&mine) / 2));
  const ProcessResult ours = run_process(training(2, 0));
  EXPECT_TRUE(header_says(ours.out, "threads", share)) << ours.out << ours.err;
  auto command = training(2, 0);
  command.insert(command.end(), {"--set", "compute.threads=3"});
  const ProcessResult theirs = run_process(command);
  EXPECT_TRUE(header_says(theirs.out, "threads", "3")) << theirs.out << theirs.err;
}

}  // namespace
}  // namespace baleen::test
