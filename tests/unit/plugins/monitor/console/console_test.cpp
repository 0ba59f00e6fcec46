/// \file The console on a terminal and on a plain file.
#include "console.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "support/captured_output.hpp"
#include "support/monitor_run.hpp"

namespace {

using namespace baleen::console;
using namespace baleen::test;

class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  static void tell(Console& console, baleen_record_kind_t kind, std::int64_t step, std::int64_t steps, double seconds,
                   std::vector<TestFact> facts, std::int32_t rank = 0) {
    const TestRecord record(kind, step, steps, seconds, std::move(facts), rank);
    EXPECT_TRUE(console.record(baleen::sdk::Record(record.get())));
  }
  static void step(Console& console, std::int64_t step, std::int64_t steps, double seconds) {
    tell(console, BALEEN_RECORD_STEP, step, steps, seconds, {{"loss", 3.0}, {"units_per_second", 2000.0}, {"lr", 0.1}});
  }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }
  /// What stands on the line after all that was written: the text since the last return, without escapes.
  static std::string visible(std::string text) {
    text = text.substr(text.rfind('\r') + 1);
    for (std::size_t at; (at = text.find('\x1b')) != text.npos;) {
      const auto end = text.find_first_of("mhlK", at);
      text.erase(at, end - at + 1);
    }
    return text;
  }
};

TEST_F(ConsoleTest, PrintsPlainLinesWhereTheOutputIsAFile) {
  CapturedOutput output;
  {
    Console console(Screen(STDOUT_FILENO), Live::kAuto, 0);
    tell(console, BALEEN_RECORD_START, 0, 100, 0, {{"parameters", 1e6}, {"unit", std::string("tokens")}});
    for (int i = 1; i <= 100; ++i) step(console, i, 100, 1 + 0.5 * i);
    tell(console, BALEEN_RECORD_EVALUATE, 100, 100, 60, {{"held_out_loss", 2.5}});
    tell(console, BALEEN_RECORD_NOTE, 100, 100, 60, {{"message", std::string("saved")}});
    tell(console, BALEEN_RECORD_FINISH, 100, 100, 61, {{"seconds", 61.0}, {"units_per_second", 1234.0}});
  }
  const auto lines = lines_of(output.text());
  ASSERT_EQ(lines.size(), 1 + 21 + 2 + 3u);  // steps 1, 5, 10, ..., 100
  EXPECT_EQ(lines[0], "  parameters                   1 M");
  EXPECT_EQ(lines[1], "step 1/100  loss 3.0000  lr 0.1  2 k tokens/s  0:01");
  EXPECT_EQ(lines[3], "step 10/100  loss 3.0000  lr 0.1  2 k tokens/s  0:06 eta 0:45");
  EXPECT_EQ(lines[21], "step 100/100  loss 3.0000  lr 0.1  2 k tokens/s  0:51");
  EXPECT_EQ(lines[22], "step 100/100  held out loss 2.5");
  EXPECT_EQ(lines[23], "saved");
  EXPECT_EQ(lines[24], "finished 100/100 steps");
  EXPECT_EQ(lines[25], "  time                         1:01");
  EXPECT_EQ(lines[26], "  tokens per second            1.23 k");
}

TEST_F(ConsoleTest, TellsWhatPlannedMemoryIsForInOneLine) {
  CapturedOutput output;
  {
    Console console(Screen(STDOUT_FILENO), Live::kOff, 0);
    tell(console, BALEEN_RECORD_START, 0, 10, 0,
         {{"planned_bytes", 4096.0},
          {"planned_bytes.parameters", 1024.0},
          {"planned_bytes.activations", 3072.0},
          {"planned_bytes.offloaded", 2048.0}});
  }
  EXPECT_EQ(output.text(),
            "  memory, planned              4.0 KiB: activations 3.0 KiB, parameters 1.0 KiB\n"
            "  memory for offloaded         2.0 KiB\n");
}

TEST_F(ConsoleTest, PrintsEveryNthStepOnRequest) {
  CapturedOutput output;
  {
    Console console(Screen(STDOUT_FILENO), Live::kOff, 4);
    for (int i = 1; i <= 10; ++i) step(console, i, 10, i);
  }
  const auto lines = lines_of(output.text());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_TRUE(lines[1].starts_with("step 4/10 "));
  EXPECT_TRUE(lines[3].starts_with("step 10/10 "));
}

TEST_F(ConsoleTest, KeepsOneLineOnATerminal) {
  FakeTerminal terminal(100);
  Console console(Screen(terminal.descriptor()), Live::kAuto, 0);
  for (int i = 1; i < 50; ++i) step(console, i, 100, i);
  const std::string text = terminal.text();
  EXPECT_EQ(text.find('\n'), text.npos);
  EXPECT_EQ(visible(text), "[========>           ] 49/100  loss 3.0000  0:49 eta 0:51  lr 0.1  2 k rows/s");
}

TEST_F(ConsoleTest, DrawsAtMostTenTimesASecondAndAlwaysTheLastStep) {
  FakeTerminal terminal(100);
  Console console(Screen(terminal.descriptor()), Live::kAuto, 0);
  for (int i = 1; i <= 1000; ++i) step(console, i, 1000, 0.001 * i);
  const std::string text = terminal.text();
  const auto drawn = std::count(text.begin(), text.end(), '[') - std::count(text.begin(), text.end(), '\x1b');
  EXPECT_LE(drawn, 12);
  EXPECT_NE(text.find("1000/1000"), text.npos);
  EXPECT_TRUE(text.ends_with("\n"));
}

TEST_F(ConsoleTest, FitsTheWindowAfterAResize) {
  FakeTerminal terminal(120);
  Console console(Screen(terminal.descriptor()), Live::kAuto, 0);
  for (const int columns : {120, 70, 40, 12, 3}) {
    terminal.resize(columns);
    terminal.text();
    step(console, columns, 200, columns < 10 ? 1000 : 500 - columns);
    EXPECT_LT(visible(terminal.text()).size(), static_cast<std::size_t>(columns)) << columns;
  }
}

TEST_F(ConsoleTest, WritesLinesAboveTheLiveOne) {
  FakeTerminal terminal(100);
  Console console(Screen(terminal.descriptor()), Live::kAuto, 0);
  tell(console, BALEEN_RECORD_NOTE, 0, 100, 0, {{"message", std::string("begun")}});
  EXPECT_EQ(terminal.text(), "begun\r\n") << "there is no live line yet";
  step(console, 1, 100, 1);
  const std::string live = terminal.text();
  // Also what the script prints in several lines, or none.
  for (const std::string text : {"saved", "a table\n1\t2", ""}) {
    tell(console, BALEEN_RECORD_NOTE, 1, 100, 1, {{"message", text}});
    const std::string shown = std::regex_replace(text, std::regex("\n"), "\r\n");
    EXPECT_EQ(terminal.text(), "\r\x1b[K" + shown + "\r\n" + live) << "cleared, and drawn again";
  }
  tell(console, BALEEN_RECORD_EVALUATE, 1, 100, 1, {{"held_out_loss", 2.5}});
  EXPECT_EQ(terminal.text(), "\r\x1b[Kstep 1/100  held out loss 2.5\r\n" + live);
  tell(console, BALEEN_RECORD_FINISH, 1, 100, 1, {});
  EXPECT_EQ(terminal.text(), "\r\x1b[Kfinished 1/100 steps\r\n") << "nothing is live any more";
}

TEST_F(ConsoleTest, UsesColourOnlyWhereItIsWelcome) {
  const auto drawn = [](Live live) {
    FakeTerminal terminal(100);
    Console console(Screen(terminal.descriptor()), live, 0);
    step(console, 1, 100, 1);
    return terminal.text();
  };
  EXPECT_NE(drawn(Live::kAuto).find("\x1b[36m"), std::string::npos);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(drawn(Live::kAuto).find("\x1b[36m"), std::string::npos);
  EXPECT_NE(drawn(Live::kAuto).find('\r'), std::string::npos) << "still one live line";
  ::setenv("TERM", "dumb", 1);
  EXPECT_EQ(drawn(Live::kAuto).find('\x1b'), std::string::npos);
}

TEST_F(ConsoleTest, ShowsRankZeroAlone) {
  CapturedOutput output;
  Console console(Screen(STDOUT_FILENO), Live::kOff, 1);
  tell(console, BALEEN_RECORD_NOTE, 1, 100, 1, {{"message", std::string("not mine")}}, 1);
  EXPECT_EQ(output.text(), "");
}

TEST_F(ConsoleTest, OutlivesItsReader) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  Console console(Screen(ends[1]), Live::kOff, 1);
  step(console, 1, 10, 1);
  step(console, 2, 10, 2);
  ::close(ends[1]);
}

}  // namespace
