/// \file The rendezvous' listener against strangers, over the loopback.
#include "ssh/listener.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "foreign_tls.hpp"
#include "ssh/hello.hpp"

namespace baleen::launchers {
namespace {

using std::chrono::milliseconds;

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Listener::open(*TcpAddress::find("127.0.0.1", 0), secret, log, timeouts);
    ASSERT_TRUE(opened) << opened.error().text();
    listener.emplace(*std::move(opened));
  }
  /// Lets the listener work until `done`, at most for a minute.
  bool serve_until(const std::function<bool()>& done) {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (!done() && Clock::now() < until) {
      std::vector<pollfd> all;
      listener->add_polls(all);
      most_watched = std::max(most_watched, all.size());
      poll(all.data(), all.size(), 1);
      for (Listener::AuthenticatedPeer& peer : listener->turn(Clock::now())) peers.push_back(std::move(peer));
    }
    return done();
  }
  FileHandle connect() const {
    auto socket = begin_connect(listener->address(), nullptr);
    EXPECT_TRUE(socket);
    pollfd ready{socket->get(), POLLOUT, 0};
    EXPECT_EQ(poll(&ready, 1, 60'000), 1);
    return *std::move(socket);
  }
  inline static const std::string kBegin = "\x16\x03";  ///< of every handshake of TLS
  static void say(const FileHandle& socket, const std::string& text) {
    EXPECT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// So many bytes, or those until the end; or `some` of them.
  std::string hear(const FileHandle& socket, std::size_t count, bool some = false) {
    std::string text;
    bool over = false;
    serve_until([&] {
      std::array<char, 256> bytes;
      const ssize_t got = recv(socket.get(), bytes.data(), std::min(bytes.size(), count - text.size()), 0);
      if (got > 0) text.append(bytes.data(), static_cast<std::size_t>(got));
      over = got == 0 || (got < 0 && errno != EAGAIN);
      return over || text.size() == count || (some && !text.empty());
    });
    return text;
  }
  /// What comes next; empty at the end.
  std::string hear_some(const FileHandle& socket) { return hear(socket, kHelloBytes, true); }
  bool is_closed(const FileHandle& socket) { return hear(socket, 1).empty(); }
  /// What a host says that has heard the hello.
  static TlsSession session(const Secret& its_secret, const std::string& hello, int host) {
    return *TlsContext::make(*JobKey::derive(its_secret, *job_of(hello)))->client(host);
  }
  /// Shakes hands as far as it goes.
  Status shake(const FileHandle& socket, TlsSession& session) {
    Status status;
    while (status) {
      say(socket, session.take_bytes());
      if (session.is_open()) return status;
      const std::string answer = hear_some(socket);
      if (answer.empty()) return internal("closed");
      status = session.receive(answer);
    }
    return status;
  }
  /// A host that knows its business.
  TlsSession enter(int host) {
    const FileHandle socket = connect();
    TlsSession own = session(secret, hear(socket, kHelloBytes), host);
    const std::size_t before = peers.size();
    const Status status = shake(socket, own);
    EXPECT_TRUE(status) << status.error().text();
    own.write("here I am");
    say(socket, own.take_bytes());
    EXPECT_TRUE(serve_until([&] { return peers.size() > before; }));
    return own;
  }

  std::ptrdiff_t warnings() const {
    return std::ranges::count_if(lines, [](const std::string& line) { return line.starts_with("warning: "); });
  }

  Secret secret = Secret::fresh();
  std::vector<std::string> lines;  ///< of the log, each behind its level
  Log log{[this](baleen_level_t level, std::string_view line) {
    lines.push_back((level == BALEEN_WARNING ? "warning: " : "debug: ") + std::string(line));
  }};
  Timeouts timeouts;
  std::optional<Listener> listener;
  std::vector<Listener::AuthenticatedPeer> peers;
  std::size_t most_watched = 0;
};

TEST_F(DoorTest, LetsAHostIn) {
  TlsSession own = enter(3);
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].host, 3);
  peers[0].session.write("a word");
  ASSERT_TRUE(own.receive(peers[0].session.take_bytes()));
  EXPECT_EQ(own.take_text(), "a word");
}

TEST_F(DoorTest, KeepsWhatAHostSaysAtOnce) {
  const FileHandle socket = connect();
  TlsSession own = session(secret, hear(socket, kHelloBytes), 1);
  say(socket, own.take_bytes());
  while (!own.is_open()) ASSERT_TRUE(own.receive(hear_some(socket)));
  own.write("its first message");
  say(socket, own.take_bytes());  // with the last bytes of the handshake
  ASSERT_TRUE(serve_until([&] { return !peers.empty(); }));
  EXPECT_EQ(peers[0].session.take_text(), "its first message");
}

TEST_F(DoorTest, RefusesAnotherSecretAndSaysSoThreeTimes) {
  for (int i = 0; i < 5; ++i) {
    const FileHandle socket = connect();
    const Secret wrong = Secret::fresh();
    TlsSession own = session(wrong, hear(socket, kHelloBytes), 1);
    const Status status = shake(socket, own);
    ASSERT_FALSE(status);
    EXPECT_NE(status.error().message.find("it knows another secret"), std::string::npos);
    EXPECT_TRUE(is_closed(socket));
  }
  EXPECT_TRUE(peers.empty());
  for (const std::string& line : lines) EXPECT_EQ(line.find(secret.text()), std::string::npos);
  EXPECT_EQ(warnings(), 3);
}

TEST_F(DoorTest, RefusesARecordedHandshake) {
  const FileHandle first = connect();
  TlsSession own = session(secret, hear(first, kHelloBytes), 1);
  std::string recorded;
  while (!own.is_open()) {
    const std::string words = own.take_bytes();
    recorded += words;
    say(first, words);
    ASSERT_TRUE(own.receive(hear_some(first)));
  }
  recorded += own.take_bytes();
  const FileHandle again = connect();
  EXPECT_EQ(hear(again, kHelloBytes), hello_of(*job_of(hear(connect(), kHelloBytes))));
  say(again, recorded);
  while (!hear_some(again).empty()) continue;
  EXPECT_TRUE(peers.empty());
  EXPECT_EQ(warnings(), 1);
}

TEST_F(DoorTest, IsQuietAboutThoseWhoSpeakTlsForAnotherReason) {
  const FileHandle socket = connect();
  hear(socket, kHelloBytes);
  ForeignTls scanner(ForeignTls::client_without_key(ForeignTls::kVersion13));
  say(socket, scanner.answer(""));
  while (!hear_some(socket).empty()) continue;
  EXPECT_EQ(warnings(), 0);
  EXPECT_NE(lines.back().find("speaks TLS at the rendezvous, but is no host"), std::string::npos) << lines.back();
}

TEST_F(DoorTest, ClosesOnGarbageAtOnce) {
  const std::string huge("\x00\x00\x00\x00\x00\x00\x00\x80", 8);  // a length of 2^63
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\n\r\n"), huge, std::string(100'000, 'x'),
                                  std::string(1, '\0'), std::string("\x16\x02")}) {
    const FileHandle socket = connect();
    hear(socket, kHelloBytes);
    send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(is_closed(socket));
  }
  enter(1);
  EXPECT_EQ(peers.size(), 1u);
}

TEST_F(DoorTest, ForgetsThoseWhoSayNothing) {
  timeouts.handshake_timeout = milliseconds(50);
  const FileHandle silent = connect(), slow = connect();
  hear(slow, kHelloBytes);
  say(slow, kBegin);
  EXPECT_EQ(hear(silent, kHelloBytes + 1).size(), kHelloBytes);
  EXPECT_TRUE(is_closed(slow));
}

TEST_F(DoorTest, ForgetsThoseWhoTakeTheirTime) {
  timeouts.handshake_timeout = milliseconds(100);
  const FileHandle slow = connect();
  say(slow, kBegin + "\x01\x0f");  // a handshake that is longer than what follows
  const auto until = Clock::now() + std::chrono::minutes(1);
  bool is_there = true;
  while (is_there && Clock::now() < until) {
    is_there = send(slow.get(), "x", 1, MSG_NOSIGNAL) == 1;
    listener->turn(Clock::now());
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_FALSE(is_there) << "who says a byte now and then stays for ever";
}

TEST_F(DoorTest, ForgetsThoseWhoSayMuch) {
  timeouts.handshake_timeout = std::chrono::minutes(10);
  const FileHandle loud = connect();
  say(loud, kBegin + "\x01\x3f\xff" + std::string(5'000, '\x01'));
  while (!hear_some(loud).empty()) continue;
  EXPECT_TRUE(peers.empty());
}

TEST_F(DoorTest, BearsAScanWithBoundedMeans) {
  timeouts.handshake_timeout = std::chrono::minutes(10);
  std::vector<FileHandle> open;
  for (int i = 0; i < 1000; ++i) {
    FileHandle socket = connect();
    if (i % 2) open.push_back(std::move(socket));
    serve_until([] { return true; });
    listener->turn(Clock::now());
  }
  std::vector<pollfd> all;
  listener->add_polls(all);
  EXPECT_LE(all.size(), 65u);
  enter(2);
  EXPECT_EQ(peers.size(), 1u);
  EXPECT_LE(most_watched, 65u);
}

/// Others who come meanwhile do not take its place.
TEST_F(DoorTest, KeepsAHostThatShakesHandsThroughAScan) {
  timeouts.handshake_timeout = std::chrono::minutes(10);
  const FileHandle socket = connect();
  TlsSession own = session(secret, hear(socket, kHelloBytes), 2);
  say(socket, own.take_bytes());
  ASSERT_TRUE(own.receive(hear_some(socket)));
  std::vector<FileHandle> open;
  for (int i = 0; i < 200; ++i) {
    open.push_back(connect());
    listener->turn(Clock::now());
  }
  while (!own.is_open()) ASSERT_TRUE(own.receive(hear_some(socket)));
  own.write("here I am");
  say(socket, own.take_bytes());
  EXPECT_TRUE(serve_until([&] { return !peers.empty(); }));
}

TEST_F(DoorTest, SaysWhatHoldsItsPort) {
  auto opened =
      std::async(std::launch::async, [&] { return Listener::open(listener->address(), secret, log, timeouts); });
  serve_until([&] { return opened.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  const auto second = opened.get();
  ASSERT_FALSE(second);
  const std::string text = second.error().text();
  EXPECT_NE(text.find("cannot listen at " + listener->address().text() + ": Address already in use; job "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" of Baleen is there. End it, or give this cluster another `port`"), std::string::npos) << text;
}

TEST(Listener, SaysThatSomethingElseHoldsItsPort) {
  int error = 0;
  const FileHandle other = listen_at(*TcpAddress::find("127.0.0.1", 0), error);
  const Secret secret = Secret::fresh();
  const auto listener = Listener::open(TcpAddress::near(other.get()), secret, {}, {});
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().text().find("another program is there, which does not say what it is"), std::string::npos);
}

TEST(Listener, OpensAtAddressesOfThisMachineOnly) {
  const Secret secret = Secret::fresh();
  const auto listener = Listener::open(*TcpAddress::find("203.0.113.1", 0), secret, {}, {});
  ASSERT_FALSE(listener);
  EXPECT_NE(listener.error().text().find("it is no address of this machine"), std::string::npos)
      << listener.error().text();
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
