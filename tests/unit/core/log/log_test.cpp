/// \file Levels, rank prefix and the flight recorder.
#include "core/log/log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

#include "core/log/last_lines.hpp"

namespace baleen {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Log, ShowsLinesOfItsLevelAndAbove) {
  CaptureStderr();
  const Log log = Log::to_stderr(BALEEN_WARNING);
  log.info("quiet");
  log.warning("loud");
  log.failure("louder");
  EXPECT_EQ(GetCapturedStderr(), "warning: loud\nerror: louder\n");
}

TEST(Log, NamesTheRankAmongSeveral) {
  CaptureStderr();
  const Log log = Log::to_stderr();
  log.set_rank(0, 1);
  log.info("alone");
  log.set_rank(3, 4);
  log.info("one of four");
  EXPECT_EQ(GetCapturedStderr(), "info: alone\n[rank 3] info: one of four\n");
}

TEST(Log, RecordsWhatItDoesNotShow) {
  CaptureStderr();
  const Log log = Log::to_stderr(BALEEN_FAILURE);
  log.debug("a detail");
  EXPECT_EQ(GetCapturedStderr(), "");
  ASSERT_EQ(log.recorded().size(), 1u);
  EXPECT_TRUE(log.recorded().front().ends_with("debug: a detail")) << log.recorded().front();
}

TEST(Log, GivesLinesOfItsLevelAndAboveToAFunction) {
  std::vector<std::pair<baleen_level_t, std::string>> lines;
  const Log log = Log::to([&](baleen_level_t level, std::string_view text) { lines.emplace_back(level, text); });
  log.debug("quiet");
  log.warning("a {} %d");
  log.set_level(BALEEN_DEBUG);
  log.debug("now heard");
  EXPECT_EQ(lines, (std::vector<std::pair<baleen_level_t, std::string>>{{BALEEN_WARNING, "a {} %d"},
                                                                        {BALEEN_DEBUG, "now heard"}}));
  EXPECT_EQ(log.recorded().size(), 3u);
}

TEST(Log, RecordsOnlyTheLastLines) {
  const Log log;
  for (std::size_t i = 0; i < Log::kRecorded + 10; ++i) log.info("line " + std::to_string(i));
  const auto lines = log.recorded();
  ASSERT_EQ(lines.size(), Log::kRecorded);
  EXPECT_TRUE(lines.front().ends_with("line 10")) << lines.front();
  EXPECT_TRUE(lines.back().ends_with("line " + std::to_string(Log::kRecorded + 9))) << lines.back();
}

TEST(Log, DumpsTheRecorder) {
  CaptureStderr();
  const Log log;
  log.debug("before the crash");
  log.dump_recorded();
  EXPECT_NE(GetCapturedStderr().find("debug: before the crash\n"), std::string::npos);
}

TEST(Log, TakesBracesAsText) {
  const Log log;
  log.info("{} {0} {name}");
  EXPECT_TRUE(log.recorded().front().ends_with("{} {0} {name}")) << log.recorded().front();
}

TEST(Log, MayBeWrittenFromManyThreads) {
  const Log log;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&log] {
      for (int j = 0; j < 20; ++j) log.info("line");
    });
  threads.clear();
  EXPECT_EQ(log.recorded().size(), 80u);
}

TEST(Log, ShowsControlCharactersInsteadOfObeyingThemAndCutsWhatIsTooLong) {
  std::string shown;
  const Log log = Log::to([&](baleen_level_t, std::string_view text) { shown = text; });
  log.info("a\x1b[31mred\xff");
  EXPECT_EQ(shown, "a\\x1b[31mred\\xff");
  log.info(std::string(20000, 'x'));
  EXPECT_EQ(shown, std::string(16384, 'x') + "... (3616 bytes more)");
}

/// What a handler of signals writes: 32 lines, cut behind 512 bytes, of whatever log.
TEST(LastLines, AreOfAllLogsAndTheOldestFirst) {
  const Log log, other;
  for (int i = 0; i < 40; ++i) (i % 2 == 0 ? log : other).info("line " + std::to_string(i));
  log.warning(std::string(600, 'x'));
  CaptureStderr();
  print_last_lines(STDERR_FILENO);
  const std::string text = GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("---- the last lines of the log ----\ninfo: line 9\ninfo: line 10\n")) << text;
  EXPECT_TRUE(text.ends_with("info: line 39\nwarning: " + std::string(502, 'x') + "\n---- end ----\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 34) << text;
}

TEST(LastLines, MayComeFromManyThreads) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([i] {
        for (int j = 0; j < 1000; ++j) remember_line("info", std::string(3, static_cast<char>('a' + i)));
      });
  }
  CaptureStderr();
  print_last_lines(STDERR_FILENO);
  std::istringstream lines(GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("info: ")) continue;
    ++count;
    EXPECT_EQ(line, "info: " + std::string(3, line[6]));
  }
  EXPECT_EQ(count, 32);
}

TEST(LogLevel, HasAName) {
  EXPECT_EQ(level_from("warning"), BALEEN_WARNING);
  EXPECT_EQ(level_from("loud"), std::nullopt);
}

}  // namespace
}  // namespace baleen
