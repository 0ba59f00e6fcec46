/// \file Lines with their prefix, through a pipe that may be full or closed.
#include "common/output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace baleen::launchers {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) std::abort();
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  bool takes_more() const {
    pollfd ready{ends_[1], POLLOUT, 0};
    return poll(&ready, 1, 0) == 1;
  }
  std::string read() {
    std::string all;
    std::array<char, 65536> bytes;
    for (ssize_t got; (got = ::read(ends_[0], bytes.data(), bytes.size())) > 0;)
      all.append(bytes.data(), static_cast<std::size_t>(got));
    return all;
  }
  void close_reader() {
    if (ends_[0] >= 0) ::close(std::exchange(ends_[0], -1));
  }

 private:
  std::array<int, 2> ends_{};
};

std::string flushed(Output& output, Pipe& pipe) {
  std::string all;
  while (!output.empty()) {
    output.flush();
    all += pipe.read();
  }
  return all;
}

TEST(LinePrefix, MarksEveryLine) {
  Pipe pipe;
  Output output(pipe.writer());
  LinePrefix lines("[rank 3] ");
  lines.add("one\ntw", output);
  EXPECT_EQ(flushed(output, pipe), "[rank 3] one\n");
  lines.add("o\n\nthree", output);
  EXPECT_EQ(flushed(output, pipe), "[rank 3] two\n[rank 3] \n");
  lines.end(output);
  lines.end(output);
  EXPECT_EQ(flushed(output, pipe), "[rank 3] three\n");
}

TEST(LinePrefix, DoesNotHoardALineWithoutAnEnd) {
  Pipe pipe;
  Output output(pipe.writer());
  LinePrefix lines("> ");
  for (int i = 0; i < 100; ++i) lines.add(std::string(1000, 'x'), output);
  EXPECT_FALSE(output.empty());
}

TEST(Output, NeverWritesMoreThanFits) {
  Pipe pipe;
  Output output(pipe.writer());
  std::string expected;
  for (int i = 0; i < 10'000; ++i) expected += "line " + std::to_string(i) + " of many\n";
  output.add(expected);
  std::string got;
  // A write that does not fit would wait here for ever: nobody else reads.
  while (!output.empty()) {
    while (!output.empty() && pipe.takes_more()) output.flush();
    got += pipe.read();
  }
  EXPECT_EQ(got, expected);
}

TEST(Output, WritesWholeLinesAtATime) {
  Pipe pipe;
  Output output(pipe.writer());
  for (int i = 0; i < 1000; ++i) output.add("a line of text\n");
  while (!output.empty()) {
    output.flush();
    EXPECT_TRUE(pipe.read().ends_with("text\n"));
  }
}

TEST(Output, TellsWhenTooMuchWaits) {
  Pipe pipe;
  Output output(pipe.writer());
  EXPECT_FALSE(output.is_full());
  output.add(std::string(2'000'000, '\n'));
  EXPECT_TRUE(output.is_full());
  flushed(output, pipe);
  EXPECT_FALSE(output.is_full());
}

TEST(Output, GoesOnWithoutAReader) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  Output output(pipe.writer());
  pipe.close_reader();
  output.add("nobody reads this\n");
  output.flush();
  EXPECT_TRUE(output.empty());
  output.add("nor this\n");
  EXPECT_TRUE(output.empty());
  std::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace baleen::launchers
