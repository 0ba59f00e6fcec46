/// \file Signals to the launcher reach the ranks, each once.
#include <csignal>

#include "rank_job.hpp"
#include "support/captured_output.hpp"

namespace baleen::test {
namespace {

TEST(LaunchSignals, AreDeadlyAsForOneProcess) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    RunningJob job(rank_program({"3", "*:pid", "*:naps"}));
    ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
    job.kill(signal);
    EXPECT_EQ(job.ends(), 128 + signal) << job.err();
    EXPECT_EQ(job.err(), "");
    EXPECT_TRUE(holds_within(std::chrono::seconds(60), [&] { return job.processes().empty(); }));
  }
}

TEST(LaunchSignals, ReachRanksThatHandleThem) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM}) {
    RunningJob job(rank_program({"3", "*:count:" + std::to_string(signal)}));
    ASSERT_TRUE(job.prints("counting", 3)) << job.err();
    job.kill(signal);
    EXPECT_EQ(job.ends(), 0) << job.err();
    EXPECT_TRUE(job.prints("counted 1\n", 3, std::chrono::seconds(0))) << job.out();
  }
}

TEST(LaunchSignals, NameARankThatAnotherEndedByTheSame) {
  RunningJob job(rank_program({"3", "*:pid", "*:naps"}));
  ASSERT_TRUE(job.prints("pid ", 3)) << job.err();
  ::kill(process_of(job.out(), 1), SIGTERM);
  EXPECT_EQ(job.ends(), 4);
  EXPECT_EQ(job.err(), "error: rank 1: killed by SIGTERM\n");
}

class LaunchTerminal : public testing::Test {
 protected:
  bool shows(const std::string& wanted, int times) {
    return holds_within(std::chrono::seconds(60), [&] {
      text += terminal.text();
      int found = 0;
      for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; ++at) ++found;
      return found >= times;
    });
  }

  FakeTerminal terminal{400};
  std::string text;
};

TEST_F(LaunchTerminal, SendsASignalOnce) {
  RunningJob job(rank_program({"2", "*:count:" + std::to_string(SIGINT)}), {terminal.descriptor(), ""});
  ASSERT_TRUE(shows("counting", 2)) << text;
  terminal.type("\x03");
  EXPECT_TRUE(shows("counted 1\r\n", 2)) << text;
  EXPECT_EQ(job.ends(), 0);
}

/// Ctrl-Z, `fg` and Ctrl-C at a shell.
TEST_F(LaunchTerminal, StopsAJobThatGoesOnWithTheShell) {
  RunningJob shell({"/usr/bin/env", "TERM=dumb", "/bin/bash", "--norc", "--noprofile", "-i"},
                   {terminal.descriptor(), ""});
  terminal.type(rank_program({}).front() + " 2 '*:pid' '*:naps'\n");
  ASSERT_TRUE(shows("\npid ", 1) && shows("\n[rank 1] pid ", 1)) << text;
  const pid_t ranks[] = {process_of(text, 0), process_of(text, 1)};
  const auto are_stopped = [&] { return state_of(ranks[0]) == 'T' && state_of(ranks[1]) == 'T'; };
  for (int times = 1; times <= 2; ++times) {
    terminal.type("\x1a");
    ASSERT_TRUE(shows("Stopped", times)) << text;
    EXPECT_TRUE(holds_within(std::chrono::seconds(5), are_stopped)) << text;
    std::this_thread::sleep_for(std::chrono::seconds(3));  // longer than the silence that is allowed
    terminal.type("fg\n");
    EXPECT_TRUE(holds_within(std::chrono::seconds(5), [&] { return !are_stopped(); })) << text;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  terminal.type("\x03");
  terminal.type("echo \"code\" $?\nexit\n");
  EXPECT_TRUE(shows("\ncode 130\r\n", 1)) << text;
  EXPECT_EQ(text.find("error"), std::string::npos) << text;
  EXPECT_EQ(shell.ends(), 0) << text;
  EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return shell.processes().empty(); }));
}

TEST(LaunchSignals, ThatWereIgnoredStaySo) {
  const ProcessResult result = run_process(
      {"bash", "-c", "trap '' HUP; \"$0\" 2 '*:sleep:300' '*:print:done' & sleep 0.1; kill -HUP $!; wait $!",
       rank_program({}).front()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 2u) << result.out;
}

}  // namespace
}  // namespace baleen::test
