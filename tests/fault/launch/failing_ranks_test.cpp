/// \file Ranks that fail, die, stop or turn deaf: who is named, how soon, and what is left.
#include <sys/shm.h>

#include <csignal>
#include <cstdlib>

#include "rank_job.hpp"
#include "support/promise.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

/// A job that works for ever, once all its ranks do.
class Working {
 public:
  explicit Working(std::vector<std::string> words) : job(rank_program(prepared(std::move(words)))) {
    EXPECT_TRUE(job.prints("pid ", 3)) << job.err();
  }
  void kill_rank(int rank, int signal) {
    start_ = steady_clock::now();
    ASSERT_EQ(::kill(process_of(job.out(), rank), signal), 0);
  }
  /// Waits for the end, and that nothing is left. Returns the seconds from kill_rank.
  double ends_by_loss() {
    EXPECT_EQ(job.ends(), 4);
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); }));
    return seconds_since(start_);
  }

  RunningJob job;

 private:
  static std::vector<std::string> prepared(std::vector<std::string> words) {
    words.insert(words.begin(), "3");
    words.insert(words.end(), {"*:barrier:all", "*:pid"});
    words.insert(words.end(), "*:work");
    return words;
  }
  steady_clock::time_point start_;
};

class EachRank : public testing::TestWithParam<int> {
 protected:
  void expect_named(steady_clock::duration promise, int signal, const std::string& what) {
    expect_kept(promise, [&] {
      Working work({});
      work.kill_rank(GetParam(), signal);
      const double took = work.ends_by_loss();
      const Lines lines = lines_of(work.job.err());
      EXPECT_EQ(lines.size(), 1u) << work.job.err();
      EXPECT_TRUE(work.job.err().starts_with("error: rank " + std::to_string(GetParam()))) << work.job.err();
      EXPECT_NE(work.job.err().find(what), std::string::npos) << work.job.err();
      return took;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, EachRank, testing::Values(0, 1, 2));

TEST_P(EachRank, IsNamedWhenItIsKilled) { expect_named(seconds(3), SIGKILL, ": killed by SIGKILL"); }

TEST_P(EachRank, IsNamedWhenItIsStopped) { expect_named(seconds(5), SIGSTOP, "stopped by a signal"); }

TEST_P(EachRank, MayPauseForASecond) {
  RunningJob job(rank_program({"3", "*:pid", "*:work:3000"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  const pid_t process = process_of(job.out(), GetParam());
  ASSERT_EQ(::kill(process, SIGSTOP), 0);
  std::this_thread::sleep_for(seconds(1));
  ASSERT_EQ(::kill(process, SIGCONT), 0);
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(job.err(), "");
}

TEST(FailingRanks, DieWithTheLauncher) {
  RunningJob job(rank_program({"3", "*:pid", "0:naps", "1:sleep:600000", "2:raise:19"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  EXPECT_EQ(job.processes().size(), 4u);
  job.kill(SIGKILL);
  EXPECT_EQ(job.ends(), 128 + SIGKILL);
  EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); }));
}

TEST(FailingRanks, OutliveALauncherThatPauses) {
  RunningJob job(rank_program({"3", "*:pid", "*:work:1000"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  job.kill(SIGSTOP);
  std::this_thread::sleep_for(seconds(4));  // longer than the silence it would allow a rank
  job.kill(SIGCONT);
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(job.err(), "");
}

void expect_ending(const std::vector<std::string>& words, int code, const std::string& message) {
  const ProcessResult result = run_ranks(words);
  EXPECT_EQ(result.exit_code, code) << words.back();
  EXPECT_EQ(result.err, "error: " + message + "\n");
}

TEST(FailingRanks, AreFoundWhenTheySayNothingFromTheirStartOn) {
  std::vector<std::string> words = rank_program({"3", "greeting=700", "stopped=300", "*:work"});
  words.insert(words.begin(), {"/usr/bin/env", "BALEEN_TEST_MUTE=1"});
  RunningJob job(words);
  EXPECT_EQ(job.ends(), 4) << job.err();
  EXPECT_NE(job.err().find("error: "), std::string::npos) << job.err();
  EXPECT_NE(job.err().find(" s though its process lives\n"), std::string::npos) << job.err();
  EXPECT_TRUE(holds_within(seconds(10), [&] { return job.processes().empty(); }));
}

TEST(FailingRanks, GiveTheLauncherTheirExitCode) {
  expect_ending({"3", "1:exit:7", "*:work"}, 7, "rank 1: ended with exit code 7 without saying why");
  expect_ending({"3", "1:exit:70", "*:naps"}, 70, "rank 1: ended with exit code 70 without saying why");
}

TEST(FailingRanks, LeaveNoSharedMemoryThatTheyMade) {
  const std::set<std::string> before = shared_memory_names();
  const ProcessResult result = run_ranks({"2", "1:segment", "1:raise:9", "*:work"});
  const std::size_t at = result.out.find("segment ");
  ASSERT_NE(at, std::string::npos) << result.out;
  const int id = std::atoi(result.out.c_str() + at + 8);
  shmid_ds segment{};
  EXPECT_EQ(shmctl(id, IPC_STAT, &segment), -1) << "segment " << id << " is left";
  EXPECT_EQ(shared_memory_left(before), std::set<std::string>());
}

TEST(FailingRanks, HaveFailedWhenTheyLeaveTooEarly) {
  expect_ending({"3", "2:exit:0", "*:work"}, 70, "rank 2: ended with exit code 0 before its work was done");
}

TEST(FailingRanks, AreNamedWithTheirOwnError) {
  expect_ending({"3", "2:fail:bad value", "*:work"}, 2, "rank 2: script.lua:3:5: bad value");
  expect_ending({"3", "0:at:12", "0:bug:impossible", "*:work"}, 70, "rank 0, step 12, backward: impossible");
}

TEST(FailingRanks, SayACommonErrorOnce) {
  expect_ending({"4", "*:fail:bad value"}, 2, "script.lua:3:5: bad value");
  expect_ending({"4", "2:sleep:300", "*:fail:bad value"}, 2, "script.lua:3:5: bad value");
  expect_ending({"4", "0:naps", "2:naps", "*:fail:bad value"}, 2, "ranks 1, 3: script.lua:3:5: bad value");
}

/// Those of a busy machine come to it one after the other.
TEST(FailingRanks, SayACommonErrorOnceThoughOneIsLate) {
  const ProcessResult late = run_ranks({"3", "alike_at_start=60000", "1:sleep:1000", "*:fail:bad value"});
  EXPECT_EQ(late.exit_code, 2);
  EXPECT_EQ(late.err, "error: script.lua:3:5: bad value\n");
}

/// Not for those who wait for them, nor once they train.
TEST(FailingRanks, AreNotWaitedForByThoseWhoNeedThem) {
  for (const char* does : {"0:get:key", "0:sleep:60000"}) {
    const bool trains = does == std::string("0:sleep:60000");
    const auto begin = steady_clock::now();
    const ProcessResult result =
        run_ranks({"2", "grace=100", trains ? "*:at:7" : "alike_at_start=60000", does, "1:fail:bad value"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err.find("error: rank 1"), 0u) << result.err;
    EXPECT_LT(seconds_since(begin), 30) << does;
  }
}

TEST(FailingRanks, AreToldApartFromThoseWhoLostAPeer) {
  // Rank 0 notices first, and says so first; rank 1 is the reason.
  expect_ending({"3", "0:lost", "1:sleep:200", "1:bug:the reason", "*:naps"}, 70, "rank 1: the reason");
}

TEST(FailingRanks, HaveSaidHowFarTheyCame) {
  expect_ending({"3", "1:at:7", "1:sleep:2000", "1:raise:15", "*:naps"}, 4,
                "rank 1, step 7, backward: killed by SIGTERM");
}

TEST(FailingRanks, HaveSaidWhichCollectiveTheyBegan) {
  expect_ending({"2", "1:at:7", "1:begins:3", "1:bug:impossible", "*:naps"}, 70,
                "rank 1, step 7, backward, collective 3 begun: impossible");
  expect_ending({"2", "*:at:7", "0:begins:3", "1:begins:4", "*:fail:bad"}, 2, "step 7, backward: script.lua:3:5: bad");
}

TEST(FailingRanks, AreMissedWhenTheyComeToNoCollective) {
  // On a busy machine, too, the launcher warns before it gives up: it has no more patience than for the first warning.
  const ProcessResult result = run_ranks({"3", "stalled=200", "stalled_at_most=200", "give_up=2000", "*:at:2",
                                          "0:begins:5", "1:begins:4", "2:begins:5", "1:sleep:600000", "*:naps"});
  EXPECT_EQ(result.exit_code, 4);
  const std::string what = "waiting for rank 1 (step 2, backward, collective 4 begun): others have begun collective 5";
  const Lines lines = lines_of(result.err);
  ASSERT_GE(lines.size(), 2u) << result.err;
  // The first warnings may come before all ranks have said how far they are. Once one has begun collective 5, rank 1 is
  // among those that are missed.
  bool has_begun = false;
  for (const std::string& line : Lines(lines.begin(), lines.end() - 1)) {
    EXPECT_TRUE(line.starts_with("warning: waiting for rank")) << result.err;
    if (!has_begun && line.find(": others have begun collective 4 (") != line.npos) continue;
    has_begun = true;
    EXPECT_TRUE(line.find(": others have begun collective 5 (") != line.npos) << result.err;
    EXPECT_LT(line.find('1'), line.find(": others")) << result.err;
  }
  EXPECT_TRUE(lines[lines.size() - 2].starts_with("warning: " + what + " (")) << result.err;
  EXPECT_TRUE(lines.back().starts_with("error: rank 1: gave up after ")) << result.err;
  EXPECT_TRUE(lines.back().ends_with(" without a collective: " + what)) << result.err;
}

TEST(FailingRanks, AreOursWhenTheyCrash) {
  expect_ending({"3", "1:raise:11", "*:work"}, 70, "rank 1: crashed: killed by SIGSEGV");
  expect_ending({"3", "1:raise:6", "*:work"}, 70, "rank 1: crashed: killed by SIGABRT");
}

TEST(FailingRanks, AreKilledWhenTheyDoNotListen) {
  const auto start = steady_clock::now();
  expect_ending({"3", "1:fail:bad", "2:sleep:600000", "*:naps"}, 2, "rank 1: script.lua:3:5: bad");
  EXPECT_LT(steady_clock::now() - start, seconds(60));
}

TEST(FailingRanks, AreFoundWhenTheyCloseTheChannel) {
  expect_ending({"2", "leaving=300", "grace=200", "1:close", "1:sleep:600000", "*:naps"}, 70,
                "rank 1: closed its control channel and went on");
}

TEST(FailingRanks, AreFoundWhenStoppedAfterTheirLastWord) {
  const ProcessResult result = run_ranks({"2", "stopped=300", "1:stop_at_exit", "*:barrier:end"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.err.starts_with("warning: rank 1 was done but was stopped by a signal (as by kill -STOP) for 0."))
      << result.err;
}

TEST(FailingRanks, AreFoundWhenStoppedWhileTheOthersEnd) {
  // Rank 0 loses patience before the launcher does; the stopped rank is still the one to name.
  const ProcessResult result = run_ranks({"2", "stopped=60000", "grace=300", "1:raise:19", "0:sleep:300", "0:lost"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(result.err.starts_with("error: rank 1: stopped by a signal")) << result.err;
}

}  // namespace
}  // namespace baleen::test
