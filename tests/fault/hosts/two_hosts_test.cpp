/// \file Two hosts that behave: places, output, rendezvous, signals.
#include <algorithm>

#include "two_hosts.hpp"

namespace baleen::test {
namespace {

Lines sorted_lines(const std::string& text) {
  Lines lines = lines_of(text);
  std::ranges::sort(lines);
  return lines;
}

TEST_F(TwoHosts, GiveEveryRankItsPlace) {
  start({"threads=1", "*:place", "*:hosts"});
  expect_end(0, {});
  const std::string a = networks.name(0), b = networks.name(1);
  EXPECT_EQ(sorted_lines(job->out()),
            (Lines{"[rank 1] host 0; ranks on 0 0 1 1", "[rank 1] rank 1 of 4, 1 of 2 on " + a + ", 1 threads",
                   "[rank 2] host 1; ranks on 0 0 1 1", "[rank 2] rank 2 of 4, 0 of 2 on " + b + ", 1 threads",
                   "[rank 3] host 1; ranks on 0 0 1 1", "[rank 3] rank 3 of 4, 1 of 2 on " + b + ", 1 threads",
                   "host 0; ranks on 0 0 1 1", "rank 0 of 4, 0 of 2 on " + a + ", 1 threads"}));
}

TEST_F(TwoHosts, Meet) {
  start({"2:put:key=value", "*:get:key", "*:barrier:b", "*:barrier:b", "*:print:through"});
  expect_end(0, {});
  for (const std::string who : {"", "[rank 1] ", "[rank 2] ", "[rank 3] "})
    EXPECT_NE(("\n" + job->out()).find("\n" + who + "key is value\n"), std::string::npos) << job->out();
  EXPECT_NE(job->out().find("[rank 3] through\n"), std::string::npos) << job->out();
}

TEST_F(TwoHosts, TearNoLine) {
  start({"1:lines:2000", "2:lines:20000", "3:lines:20000"});
  expect_end(0, {});
  std::map<int, int> next;
  for (const std::string& line : lines_of(job->out())) {
    int marked = -1, number = -1, rank = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "[rank %d] line %d of rank %d", &marked, &number, &rank), 3) << line;
    EXPECT_EQ(marked, rank) << line;
    EXPECT_EQ(number, next[rank]++) << line;
  }
  EXPECT_EQ(next, (std::map<int, int>{{1, 2000}, {2, 20000}, {3, 20000}}));
}

TEST_F(TwoHosts, WaitForASlowReader) {
  // Many times what all buffers on the way hold; the ranks of both hosts wait, and nobody is taken for silent, for
  // longer than launchers wait for a word. That is more than the second that counts of a busy machine's pauses.
  std::vector<std::string> words =
      networks.on(0, rank_program({hosts(), "start=ip netns exec {name} sh -c", "heartbeat_timeout=2500",
                                   "2:lines:300000", "*:barrier:end"}));
  std::vector<std::string> piped = {"/bin/bash", "-c", "set -o pipefail; \"$@\" | (sleep 5; wc -l)", "-"};
  piped.insert(piped.end(), words.begin(), words.end());
  job = std::make_unique<RunningJob>(piped);
  expect_end(0, {});
  EXPECT_EQ(job->out(), "300000\n");
}

TEST_F(TwoHosts, GiveTheInputToRank0Alone) {
  const auto words = networks.on(0, rank_program({hosts(), "start=ip netns exec {name} sh -c", "*:read"}));
  job = std::make_unique<RunningJob>(words, RunningJob::Options{-1, "words\n"});
  expect_end(0, {});
  EXPECT_EQ(sorted_lines(job->out()),
            (Lines{"[rank 1] nothing to read", "[rank 2] nothing to read", "[rank 3] nothing to read", "read: words"}));
}

TEST_F(TwoHosts, NameWhoKeepsOthersWaiting) {
  // Reminders come twice as late each time, later yet on a busy machine: rank 2 comes once the first one was seen.
  start({"remind=100", "0:barrier:start", "1:barrier:start", "2:until:" + folder / "seen", "2:barrier:start",
         "3:sleep:600000"});
  const std::string two = "warning: ranks 0, 1 wait at barrier `start`; still waiting for ranks 2, 3 (host ";
  EXPECT_TRUE(job->complains(two + networks.name(1) + ")")) << job->err();
  folder.write("seen", "");
  const std::string three = "warning: ranks 0, 1, 2 wait at barrier `start`; still waiting for rank 3 (host ";
  EXPECT_TRUE(job->complains(three + networks.name(1) + ")")) << job->err();
  job->kill(SIGTERM);
  EXPECT_EQ(job->ends(), 128 + SIGTERM) << job->err();
}

TEST_F(TwoHosts, GiveUpWaitingForOthers) {
  start({"give_up=1000", "0:barrier:start", "1:barrier:start", "2:barrier:start", "3:sleep:600000"});
  EXPECT_EQ(job->ends(), 4) << job->err();
  // Whose wait is the oldest, and who is missing, depends on who started first.
  EXPECT_NE(job->err().find(": gave up after "), std::string::npos) << job->err();
  EXPECT_NE(job->err().find("; still waiting for rank"), std::string::npos) << job->err();
}

TEST_F(TwoHosts, PassSignalsOnToAllRanks) {
  start({"*:count:" + std::to_string(SIGUSR1)});
  ASSERT_TRUE(job->prints("counting", 4)) << job->err();
  job->kill(SIGUSR1);
  expect_end(0, {});
  EXPECT_TRUE(job->prints("counted 1\n", 4, seconds(0))) << job->out();
}

TEST_F(TwoHosts, EndByASignalAsOneProcessDoes) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start({"*:pid", "*:naps"});
    ASSERT_TRUE(job->prints("pid ", 4)) << job->err();
    job->kill(signal);
    expect_end(128 + signal, {});
  }
}

TEST_F(TwoHosts, SayAUsersMistakeOnce) {
  start({"*:fail:bad value"});
  expect_end(2, {"error: script.lua:3:5: bad value"});
  start({"0:naps", "1:naps", "*:fail:bad value"});
  expect_end(2, {"error: ranks 2, 3 on " + networks.name(1) + ": script.lua:3:5: bad value"});
  start({"3:exit:7", "*:work"});
  expect_end(7, {"error: rank 3 on " + networks.name(1) + ": ended with exit code 7"});
}

}  // namespace
}  // namespace baleen::test
