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

TEST(LaunchSignals, FromATerminalComeOnce) {
  FakeTerminal terminal(80);
  RunningJob job(rank_program({"2", "*:count:" + std::to_string(SIGINT)}), {terminal.descriptor(), ""});
  std::string text;
  const auto shows = [&](const std::string& wanted, int times) {
    return holds_within(std::chrono::seconds(60), [&] {
      text += terminal.text();
      int found = 0;
      for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string::npos; ++at) ++found;
      return found >= times;
    });
  };
  ASSERT_TRUE(shows("counting", 2)) << text;
  terminal.type("\x03");
  EXPECT_TRUE(shows("counted 1\r\n", 2)) << text;
  EXPECT_EQ(job.ends(), 0);
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
