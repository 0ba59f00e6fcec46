/// \file The rendezvous' door against strangers, over the loopback.
#include "ssh/door.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <future>
#include <string>
#include <vector>

namespace baleen::launchers {
namespace {

using std::chrono::milliseconds;

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Door::open(*TcpAddress::find("127.0.0.1", 0), secret, log, patience);
    ASSERT_TRUE(opened) << opened.error().text();
    door.emplace(*std::move(opened));
  }
  /// Lets the door work until `done`, at most for a minute.
  bool serve_until(const std::function<bool()>& done) {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (!done() && Clock::now() < until) {
      std::vector<pollfd> all;
      door->add_polls(all);
      most_watched = std::max(most_watched, all.size());
      poll(all.data(), all.size(), 1);
      for (Door::Guest& guest : door->turn(Clock::now())) guests.push_back(std::move(guest));
    }
    return done();
  }
  FileHandle connect() const {
    auto socket = begin_connect(door->address(), nullptr);
    EXPECT_TRUE(socket);
    pollfd ready{socket->get(), POLLOUT, 0};
    EXPECT_EQ(poll(&ready, 1, 60'000), 1);
    return *std::move(socket);
  }
  static void say(const FileHandle& socket, const std::string& text) {
    EXPECT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// So many bytes, or those until the end.
  std::string hear(const FileHandle& socket, std::size_t count) {
    std::string text;
    bool over = false;
    serve_until([&] {
      std::array<char, 256> bytes;
      const ssize_t got = recv(socket.get(), bytes.data(), std::min(bytes.size(), count - text.size()), 0);
      if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
      over = got == 0 || (got < 0 && errno != EAGAIN);
      return over || text.size() == count;
    });
    return text;
  }
  bool is_closed(const FileHandle& socket) { return hear(socket, 1).empty(); }
  /// A host that knows its business.
  LinkKeys enter(int host) {
    const FileHandle socket = connect();
    Caller caller(secret, host);
    say(socket, *caller.join(hear(socket, kHelloBytes)));
    const auto keys = caller.conclude(hear(socket, kAnswerBytes));
    EXPECT_TRUE(keys) << keys.error().text();
    return keys ? *keys : LinkKeys();
  }

  Secret secret = Secret::fresh();
  std::vector<std::string> lines;  ///< of the log, each behind its level
  Log log{[this](baleen_level_t level, std::string_view line) {
    lines.push_back((level == BALEEN_WARNING ? "warning: " : "debug: ") + std::string(line));
  }};
  Patience patience;
  std::optional<Door> door;
  std::vector<Door::Guest> guests;
  std::size_t most_watched = 0;
};

TEST_F(DoorTest, LetsAHostIn) {
  const LinkKeys keys = enter(3);
  ASSERT_EQ(guests.size(), 1u);
  EXPECT_EQ(guests[0].host, 3);
  EXPECT_EQ(guests[0].keys.to_first, keys.to_first);
}

TEST_F(DoorTest, RefusesAnotherSecretAndSaysSoThreeTimes) {
  for (int i = 0; i < 5; ++i) {
    const FileHandle socket = connect();
    const Secret wrong = Secret::fresh();
    Caller caller(wrong, 1);
    say(socket, *caller.join(hear(socket, kHelloBytes)));
    const auto keys = caller.conclude(hear(socket, kAnswerBytes));
    ASSERT_FALSE(keys);
    EXPECT_NE(keys.error().message.find("it knows another secret"), std::string::npos);
    EXPECT_TRUE(is_closed(socket));
  }
  EXPECT_TRUE(guests.empty());
  int warnings = 0;
  for (const std::string& line : lines) {
    warnings += line.starts_with("warning: ");
    EXPECT_EQ(line.find(secret.text()), std::string::npos);
  }
  EXPECT_EQ(warnings, 3);
}

TEST_F(DoorTest, RefusesARecordedJoin) {
  const FileHandle first = connect();
  Caller caller(secret, 1);
  const std::string join = *caller.join(hear(first, kHelloBytes));
  say(first, join);
  ASSERT_TRUE(caller.conclude(hear(first, kAnswerBytes)));
  const FileHandle again = connect();
  hear(again, kHelloBytes);
  say(again, join);
  EXPECT_EQ(hear(again, kAnswerBytes), Doorkeeper::refusal());
  EXPECT_TRUE(is_closed(again));
  EXPECT_EQ(guests.size(), 1u);
}

TEST_F(DoorTest, ClosesOnGarbageAtOnce) {
  const std::string huge("\x00\x00\x00\x00\x00\x00\x00\x80", 8);  // a length of 2^63
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"), huge, std::string(100'000, 'x')}) {
    const FileHandle socket = connect();
    hear(socket, kHelloBytes);
    send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(is_closed(socket));
  }
  enter(1);
  EXPECT_EQ(guests.size(), 1u);
}

TEST_F(DoorTest, ForgetsThoseWhoSayNothing) {
  patience.shaking = milliseconds(50);
  const FileHandle silent = connect(), slow = connect();
  hear(slow, kHelloBytes);
  say(slow, "baleen");
  EXPECT_EQ(hear(silent, kHelloBytes + 1).size(), kHelloBytes);
  EXPECT_TRUE(is_closed(slow));
}

TEST_F(DoorTest, BearsAScanWithBoundedMeans) {
  patience.shaking = std::chrono::minutes(10);
  std::vector<FileHandle> open;
  for (int i = 0; i < 1000; ++i) {
    FileHandle socket = connect();
    if (i % 2) open.push_back(std::move(socket));
    serve_until([] { return true; });
    door->turn(Clock::now());
  }
  std::vector<pollfd> all;
  door->add_polls(all);
  EXPECT_LE(all.size(), 65u);
  enter(2);
  EXPECT_EQ(guests.size(), 1u);
  EXPECT_LE(most_watched, 65u);
}

TEST_F(DoorTest, SaysWhatHoldsItsPort) {
  auto opened = std::async(std::launch::async, [&] { return Door::open(door->address(), secret, log, patience); });
  serve_until([&] { return opened.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  const auto second = opened.get();
  ASSERT_FALSE(second);
  const std::string text = second.error().text();
  EXPECT_NE(text.find("cannot listen at " + door->address().text() + ": Address already in use; job "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" of Baleen is there. End it, or give this cluster another `port`"), std::string::npos) << text;
}

TEST(Door, SaysThatSomethingElseHoldsItsPort) {
  int error = 0;
  const FileHandle other = listen_at(*TcpAddress::find("127.0.0.1", 0), error);
  const Secret secret = Secret::fresh();
  const auto door = Door::open(TcpAddress::near(other.get()), secret, {}, {});
  ASSERT_FALSE(door);
  EXPECT_NE(door.error().text().find("another program is there, which does not say what it is"), std::string::npos);
}

TEST(Door, OpensAtAddressesOfThisMachineOnly) {
  const Secret secret = Secret::fresh();
  const auto door = Door::open(*TcpAddress::find("203.0.113.1", 0), secret, {}, {});
  ASSERT_FALSE(door);
  EXPECT_NE(door.error().text().find("it is no address of this machine"), std::string::npos) << door.error().text();
}

TEST(TcpAddress, IsReadAndWritten) {
  EXPECT_EQ(TcpAddress::find("127.0.0.2", 80)->text(), "127.0.0.2:80");
  EXPECT_EQ(TcpAddress::find("::1", 80)->text(), "[::1]:80");
  EXPECT_TRUE(TcpAddress::find("127.1.2.3", 80)->is_loopback());
  EXPECT_TRUE(TcpAddress::find("::1", 80)->is_loopback());
  EXPECT_FALSE(TcpAddress::find("10.0.0.1", 80)->is_loopback());
  const auto none = TcpAddress::find("no.such.host.invalid", 80);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().text().starts_with("cannot find the address of `no.such.host.invalid`: "));
}

}  // namespace
}  // namespace baleen::launchers
