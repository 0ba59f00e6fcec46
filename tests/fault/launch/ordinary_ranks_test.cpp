/// \file Ranks that behave: their places, their output, their rendezvous.
#include <sched.h>

#include <algorithm>
#include <map>

#include "rank_job.hpp"
#include "support/captured_output.hpp"
#include "support/promise.hpp"

namespace baleen::test {
namespace {

Lines sorted_lines(const std::string& text) {
  Lines lines = lines_of(text);
  std::ranges::sort(lines);
  return lines;
}

TEST(Launch, GivesEveryRankItsPlace) {
  const ProcessResult result = run_ranks({"3", "threads=5", "*:place"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(sorted_lines(result.out), (Lines{"[rank 1] rank 1 of 3, 1 of 3 on localhost, 5 threads",
                                             "[rank 2] rank 2 of 3, 2 of 3 on localhost, 5 threads",
                                             "rank 0 of 3, 0 of 3 on localhost, 5 threads"}));
}

TEST(Launch, SharesTheProcessors) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  const int count = CPU_COUNT(&mine);
  if (count < 2) GTEST_SKIP() << "needs two processors";
  const ProcessResult result = run_ranks({"2", "*:place", "*:cpus"});
  std::map<std::string, int> users;
  for (const std::string& line : lines_of(result.out)) {
    if (line.find("cpus") == std::string::npos) {
      EXPECT_TRUE(line.ends_with(" " + std::to_string(count / 2) + " threads")) << line;
      continue;
    }
    std::istringstream words(line.substr(line.find("cpus") + 4));
    for (std::string cpu; words >> cpu;) ++users[cpu];
  }
  EXPECT_EQ(users.size(), static_cast<std::size_t>(count)) << result.out;
  for (const auto& [cpu, ranks] : users) EXPECT_EQ(ranks, 1) << "processor " << cpu << "\n" << result.out;
}

TEST(Launch, LetsRanksShareWhereProcessorsAreFew) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  const ProcessResult result = run_ranks({std::to_string(CPU_COUNT(&mine) + 1), "*:place", "*:cpus"});
  const Lines lines = lines_of(result.out);
  EXPECT_EQ(std::ranges::count_if(lines, [](const auto& line) { return line.ends_with(" 1 threads"); }),
            CPU_COUNT(&mine) + 1);
  const auto of_rank_0 = std::ranges::find_if(lines, [](const auto& line) { return line.starts_with("cpus"); });
  ASSERT_NE(of_rank_0, lines.end());
  EXPECT_EQ(std::ranges::count(*of_rank_0, ' '), CPU_COUNT(&mine)) << *of_rank_0;
}

TEST(Launch, LetsRanksMeet) {
  const ProcessResult result = run_ranks({"4", "3:put:key=value", "*:get:key", "*:barrier:b", "*:barrier:b"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_lines(result.out),
            (Lines{"[rank 1] key is value", "[rank 2] key is value", "[rank 3] key is value", "key is value"}));
}

TEST(Launch, NamesWhoKeepsOthersWaiting) {
  RunningJob job(rank_program({"4", "remind=100", "*:pid", "1:count:10", "3:count:10", "*:barrier:start"}));
  ASSERT_TRUE(job.prints("counting", 2));
  ASSERT_TRUE(holds_within(std::chrono::seconds(60), [&] {
    job.prints("never", 1, std::chrono::milliseconds(10));
    return job.err().find("warning: ranks 0, 2 wait at barrier `start`; still waiting for ranks 1, 3") !=
           std::string::npos;
  })) << job.err();
  for (const int rank : {1, 3}) ::kill(process_of(job.out(), rank), SIGUSR1);
  EXPECT_EQ(job.ends(), 0) << job.err();
}

/// Two seconds, and what a busy machine adds.
TEST(Launch, NamesWithinSecondsWhoDoesNotCome) {
  expect_kept(3, [] {
    RunningJob job(rank_program({"3", "*:pid", "1:sleep:4500", "*:barrier:start"}));
    EXPECT_TRUE(job.prints("pid ", 3)) << job.err();
    const auto since = std::chrono::steady_clock::now();
    job.complains("still waiting for rank 1 (", std::chrono::milliseconds(4'000));
    const double took = seconds_since(since);
    EXPECT_EQ(job.ends(), 0) << job.err();
    return took;
  });
}

/// Each reminder comes twice as late as the one before, so that a long wait does not fill the log.
TEST(Launch, RemindsEverMoreSeldom) {
  const ProcessResult result =
      run_ranks({"2", "remind=50", "give_up=2700", "grace=100", "*:at:2", "1:sleep:60000", "*:get:key"});
  EXPECT_EQ(result.exit_code, 4);
  std::vector<double> after;
  for (const std::string& line : lines_of(result.err))
    if (line.starts_with("warning: rank 0 waits for key `key`; still waiting for rank 1 ("))
      after.push_back(std::stod(line.substr(line.rfind('(') + 1)));
  EXPECT_GE(after.size(), 1u) << result.err;
  EXPECT_LE(after.size(), 6u) << result.err;  // 0.05 s, ..., 1.6 s; the step is told up to 0.2 s late
  for (std::size_t i = 2; i < after.size(); ++i) EXPECT_GT(after[i], 1.9 * after[i - 2]) << result.err;
}

/// Who comes late again and again, as one that writes checkpoints, is no news.
TEST(Launch, DoesNotTellOfUsualWaits) {
  std::vector<std::string> words = {"2", "remind=100"};
  constexpr int kWaits = 12;
  for (int i = 0; i < kWaits; ++i) words.insert(words.end(), {"1:sleep:300", "*:barrier:all"});
  const ProcessResult result = run_ranks(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(std::ranges::count(result.err, '\n'), kWaits / 2) << result.err;
}

TEST(Launch, GivesUpWaitingInTheEnd) {
  const ProcessResult result = run_ranks({"2", "give_up=300", "grace=100", "1:sleep:60000", "*:get:key"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_NE(result.err.find("rank 0 waits for key `key`; still waiting for rank 1"), std::string::npos) << result.err;
}

/// Who writes a large checkpoint beside the training is waited for as long as the training goes on.
TEST(Launch, WaitsForRanksThatGetFurther) {
  std::vector<std::string> words = {"2", "give_up=1500", "grace=100", "0:get:key"};
  for (int step = 1; step <= 8; ++step) words.insert(words.end(), {"1:at:" + std::to_string(step), "1:sleep:400"});
  words.emplace_back("1:put:key=value");
  const ProcessResult result = run_ranks(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "key is value\n");
}

/// Turns of 0.4 s that no launcher comes to the end of, however late ranks begin on a busy machine.
constexpr int kForLong = 100;

/// And for who writes the last one, when nobody trains any more, or reads text for long, while it reads and writes.
TEST(Launch, WaitsForRanksThatReadAndWrite) {
  const auto ends = [](const std::string& work, int turns) {
    std::vector<std::string> words = {"2", "give_up=1500", "grace=100", "0:get:key"};
    for (int i = 0; i < turns; ++i) words.insert(words.end(), {"1:passes:" + work, "1:sleep:400"});
    words.emplace_back("1:put:key=value");
    return run_ranks(words);
  };
  const ProcessResult much = ends("100", 8);
  EXPECT_EQ(much.exit_code, 0) << much.err;
  EXPECT_EQ(much.out, "key is value\n");
  const ProcessResult hardly = ends("1", kForLong);
  EXPECT_EQ(hardly.exit_code, 4);
  EXPECT_NE(hardly.err.find("gave up after "), std::string::npos) << hardly.err;
}

/// The same where they are to come to a collective.
TEST(Launch, WaitsForCollectivesOfRanksThatReadAndWrite) {
  const auto ends = [](const std::string& work, int turns) {
    std::vector<std::string> words = {"2", "give_up=1500", "grace=100", "*:begins:1", "0:begins:2"};
    for (int i = 0; i < turns; ++i) words.insert(words.end(), {"1:passes:" + work, "*:sleep:400"});
    words.emplace_back("1:begins:2");
    return run_ranks(words);
  };
  const ProcessResult much = ends("100", 8);
  EXPECT_EQ(much.exit_code, 0) << much.err;
  const ProcessResult hardly = ends("1", kForLong);
  EXPECT_EQ(hardly.exit_code, 4);
  EXPECT_NE(hardly.err.find("without a collective"), std::string::npos) << hardly.err;
}

/// Ctrl-Z and `fg`: the time between them is nobody's wait.
TEST(Launch, DoesNotCountThePauseOfItsOwnAsAWait) {
  RunningJob job(rank_program({"2", "give_up=3000", "remind=3000", "*:pid", "1:count:10", "*:barrier:start"}));
  ASSERT_TRUE(job.prints("counting")) << job.err();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // rank 0 comes to the barrier meanwhile
  ASSERT_EQ(::kill(job.leader(), SIGTSTP), 0);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  ASSERT_EQ(::kill(job.leader(), SIGCONT), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(job.err(), "");
  ::kill(process_of(job.out(), 1), SIGUSR1);
  EXPECT_EQ(job.ends(), 0) << job.err();
}

TEST(Launch, SetsAKeyOnlyOnce) {
  const ProcessResult result = run_ranks({"2", "1:put:k=1", "1:put:k=2", "*:work"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "error: rank 1: rendezvous: the key `k` is already set\n");
}

TEST(Launch, RefusesABarrierThatCannotOpen) {
  const ProcessResult result = run_ranks({"2", "0:sleep:100", "0:barrier:b"});
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_EQ(result.err, "error: rank 0: rendezvous: rank 1 ended without coming to the barrier `b`\n");
}

/// Of ranks other than 0 it is the launcher that writes, and who loses lines.
TEST(Launch, TellsOfLinesThatAreLost) {
  const auto ends = [](const std::string& output) {
    return run_process({"bash", "-c", "'" + build_dir() + "/tests/rank_program' 2 1:print:hello " + output});
  };
  const ProcessResult full = ends("> /dev/full");
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_EQ(full.err, "error: standard output did not take all that was printed: No space left on device\n");
  const ProcessResult left = ends("| true; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(left.exit_code, 0);
  EXPECT_EQ(left.err, "") << "nobody reads them";
  EXPECT_EQ(ends("").out, "[rank 1] hello\n");
}

TEST(Launch, TearsNoLine) {
  constexpr int kRanks = 4, kLines = 3000;
  const ProcessResult result = run_ranks({std::to_string(kRanks), "1:lines:3000", "2:lines:3000", "3:lines:3000"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::map<int, int> next;
  for (const std::string& line : lines_of(result.out)) {
    int marked = -1, number = -1, rank = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "[rank %d] line %d of rank %d", &marked, &number, &rank), 3) << line;
    EXPECT_EQ(marked, rank) << line;
    EXPECT_EQ(number, next[rank]++) << line;
  }
  for (int rank = 1; rank < kRanks; ++rank) EXPECT_EQ(next[rank], kLines) << "of rank " << rank;
}

TEST(Launch, ShowsWhatARankWroteLast) {
  const ProcessResult result = run_ranks({"2", "1:half:without an end", "1:error:to the other output", "1:exit:9"});
  EXPECT_EQ(result.exit_code, 9);
  EXPECT_EQ(result.out, "[rank 1] without an end\n");
  EXPECT_TRUE(result.err.starts_with("[rank 1] to the other output\n")) << result.err;
}

TEST(Launch, WaitsForNoOutputOfAForeignChild) {
  RunningJob job(rank_program({"2", "1:hold", "*:print:here"}));
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(sorted_lines(job.out()), (Lines{"[rank 1] here", "here"}));
}

TEST(Launch, GivesTheInputToRank0) {
  RunningJob job(rank_program({"2", "*:read"}), {-1, "words\n"});
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(sorted_lines(job.out()), (Lines{"[rank 1] nothing to read", "read: words"}));
}

TEST(Launch, LeavesTheTerminalToRank0) {
  FakeTerminal terminal(80);
  RunningJob job(rank_program({"2", "*:tty"}), {terminal.descriptor(), ""});
  EXPECT_EQ(job.ends(), 0) << job.err();
  const std::string text = terminal.text();
  EXPECT_NE(text.find("[rank 1] no terminal\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("a terminal\r\n") || text.ends_with("\na terminal\r\n")) << text;
}

TEST(Launch, BeginsALineWhereRank0WasCutOff) {
  FakeTerminal terminal(80);
  RunningJob job(rank_program({"2", "0:half:a bar", "0:raise:9", "*:naps"}), {terminal.descriptor(), ""});
  EXPECT_EQ(job.ends(), 4);
  const std::string text = terminal.text();
  EXPECT_TRUE(text.starts_with("a bar\r\n")) << text;
  EXPECT_NE(text.find("rank 0: killed by SIGKILL"), std::string::npos) << text;
}

TEST(Launch, GoesOnWhenNobodyReads) {
  const ProcessResult result = run_process(
      {"bash", "-c", "set -o pipefail; \"$0\" 2 1:lines:20000 '*:barrier:b' | head -1", rank_program({}).front()});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "[rank 1] line 0 of rank 1\n");
}

TEST(Launch, RefusesItsOwnWordFromAUser) {
  for (const std::string word : {"--rank-link=77", "--rank-link=1", "--rank-link=x", "--rank-link="}) {
    const ProcessResult result = run_process(rank_program({word}));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "error: `" + word + "` is how a launcher starts its ranks; it is no option for you\n");
  }
}

}  // namespace
}  // namespace baleen::test
