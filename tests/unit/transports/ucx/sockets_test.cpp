/// \file Connections under a file of epoll: which are found, and which are taken for dead.
#include "sockets.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace baleen::ucx {
namespace {

// Seconds, and the looks that they are.
constexpr double kPatience = 3.25;
constexpr int kSilentLooks = 13, kConnectingLooks = 26;

/// Closed at the end.
struct File {
  explicit File(int given = -1) : number(given) {}
  ~File() {
    if (number >= 0) close(number);
  }
  File(const File&) = delete;
  const int number;
};

void watch(const File& watcher, int file) {
  epoll_event event{EPOLLIN, {}};
  ASSERT_EQ(epoll_ctl(watcher.number, EPOLL_CTL_ADD, file, &event), 0);
}

sockaddr_in address(const char* text) {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  inet_pton(AF_INET, text, &made.sin_addr);
  return made;
}

int connected(const char* from, const sockaddr_in& to) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in own = address(from);
  EXPECT_EQ(bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  EXPECT_EQ(connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return made;
}

sockaddr_in listening(const File& listener, const char* at) {
  sockaddr_in own = address(at);
  socklen_t size = sizeof own;
  EXPECT_EQ(bind(listener.number, reinterpret_cast<const sockaddr*>(&own), size), 0);
  EXPECT_EQ(listen(listener.number, 1), 0);
  EXPECT_EQ(getsockname(listener.number, reinterpret_cast<sockaddr*>(&own), &size), 0);
  return own;
}

/// From 127.0.0.1 to the peer's address.
struct Connection {
  explicit Connection(const char* peer = "127.0.0.2")
      : listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        here(connected("127.0.0.1", listening(listener, peer))),
        there(accept(listener.number, nullptr, nullptr)) {}

  /// What comes to the peer from now on is dropped before TCP sees it, as by a firewall.
  void deafen() {
    sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog program{1, &nothing};
    ASSERT_EQ(setsockopt(there.number, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  }
  void hear_again() {
    const int unused = 0;
    ASSERT_EQ(setsockopt(there.number, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused), 0);
  }
  /// As much as there is room for.
  void fill() {
    const std::vector<char> bytes(1 << 16);
    while (send(here.number, bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
  }
  void say(const char* text) { ASSERT_EQ(send(here.number, text, 1, MSG_NOSIGNAL), 1); }
  bool is_shut() const {
    char unused = 0;
    return recv(here.number, &unused, 1, MSG_DONTWAIT) == 0;
  }

  const File listener, here, there;
};

std::string algorithm_of(const File& socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size();
  EXPECT_EQ(getsockopt(socket.number, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size), 0);
  return name.data();
}

/// What the looks say, one after the other; at most so many.
std::string looks(Sockets& sockets, int most) {
  std::string said;
  for (int look = 0; look < most && said.empty(); ++look) said = sockets.look();
  return said;
}

TEST(UcxSockets, AreFoundBelowFilesOfEpoll) {
  const File top(epoll_create1(EPOLL_CLOEXEC)), below(epoll_create1(EPOLL_CLOEXEC)), other(eventfd(0, EFD_CLOEXEC));
  const Connection one, two, elsewhere;
  watch(top, below.number);
  watch(below, other.number);
  watch(top, one.here.number);
  watch(below, two.here.number);
  std::vector<int> found = watched_sockets(top.number), wanted = {one.here.number, two.here.number};
  std::ranges::sort(found);
  std::ranges::sort(wanted);
  EXPECT_EQ(found, wanted);
}

TEST(UcxSockets, GetAnAlgorithmWithoutPausesWithinAHost) {
  const File watcher(epoll_create1(EPOLL_CLOEXEC));
  const Connection within("127.0.0.1"), across;
  const std::string usual = algorithm_of(across.here);
  watch(watcher, within.here.number);
  watch(watcher, across.here.number);
  Sockets(watcher.number, kPatience).look();
  EXPECT_EQ(algorithm_of(within.here), "reno");
  EXPECT_EQ(algorithm_of(across.here), usual);
}

// Of two connections that are made at once UCX keeps one, and the other's number is soon another's.
TEST(UcxSockets, AreKnownWhereTheirNumberWasAnothers) {
  const File watcher(epoll_create1(EPOLL_CLOEXEC));
  Sockets sockets(watcher.number, kPatience);
  int number = -1;
  {
    const Connection first("127.0.0.1");
    number = first.here.number;
    watch(watcher, number);
    sockets.look();
  }
  const Connection second("127.0.0.1");
  ASSERT_EQ(second.here.number, number);  // the lowest that is free
  watch(watcher, number);
  sockets.look();
  EXPECT_EQ(algorithm_of(second.here), "reno");
}

class Silence : public testing::Test {
 protected:
  void SetUp() override { watch(watcher, connection.here.number); }
  static constexpr int kMany = 4 * kSilentLooks;
  const File watcher{epoll_create1(EPOLL_CLOEXEC)};
  Connection connection;
  Sockets sockets{watcher.number, kPatience};
};

TEST_F(Silence, OfWhoIsNotAskedMeansNothing) {
  connection.deafen();
  EXPECT_EQ(looks(sockets, kMany), "");
}

TEST_F(Silence, OfAPeerThatAcknowledgesNothingEndsItsConnection) {
  connection.say("?");
  EXPECT_EQ(sockets.look(), "");
  connection.deafen();
  connection.say("?");
  EXPECT_EQ(looks(sockets, kSilentLooks - 1), "");
  EXPECT_FALSE(connection.is_shut());
  EXPECT_EQ(looks(sockets, 2), "127.0.0.2");
  EXPECT_TRUE(connection.is_shut());
}

// It cannot hear that what it says has come, and says it again and again.
class OneWay : public Silence {
 protected:
  void SetUp() override {
    Silence::SetUp();
    EXPECT_EQ(sockets.look(), "");
    connection.deafen();
    connection.say("?");
    usleep(20'000);
    ASSERT_EQ(send(connection.there.number, "!", 1, MSG_NOSIGNAL), 1);
    usleep(20'000);
  }
};

TEST_F(OneWay, TalkEndsTheConnection) {
  EXPECT_EQ(looks(sockets, kSilentLooks - 1), "");
  EXPECT_EQ(looks(sockets, 2), "127.0.0.2");
}

// Both send again at times of their own, each a little later than before.
TEST_F(OneWay, TalkIsNoticedInTime) {
  std::string said;
  int count = 0;
  for (; count < kMany && said.empty(); ++count) {
    usleep(Sockets::kLookMilliseconds * 1000);
    said = sockets.look();
  }
  EXPECT_EQ(said, "127.0.0.2");
  EXPECT_LE(count, kSilentLooks + 2);
}

TEST_F(Silence, ThatEndsIsForgotten) {
  connection.deafen();
  connection.say("?");
  EXPECT_EQ(looks(sockets, kSilentLooks - 1), "");
  connection.hear_again();
  char heard = 0;
  ASSERT_EQ(recv(connection.there.number, &heard, 1, 0), 1);  // what TCP sends again
  EXPECT_EQ(looks(sockets, kMany), "");
  EXPECT_FALSE(connection.is_shut());
}

// It is stopped, or busy; its system says so.
TEST_F(Silence, OfAPeerThatDoesNotReadIsPatience) {
  connection.fill();
  usleep(100'000);
  EXPECT_EQ(looks(sockets, kMany), "");
  EXPECT_FALSE(connection.is_shut());
}

TEST_F(Silence, OfOneOfTwoEndsOneOnly) {
  Connection other("127.0.0.3");
  watch(watcher, other.here.number);
  other.say("?");
  connection.deafen();
  connection.say("?");
  EXPECT_EQ(looks(sockets, kSilentLooks + 1), "127.0.0.2");
  for (int look = 0; look < kMany; ++look) sockets.look();
  EXPECT_TRUE(connection.is_shut());
  EXPECT_FALSE(other.is_shut());
}

// Nobody answers there: the last place of the queue is taken.
TEST_F(Silence, OfAHostThatIsConnectedToTakesLonger) {
  const sockaddr_in full = [] {
    static const File listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return listening(listener, "127.0.0.4");
  }();
  std::vector<std::unique_ptr<File>> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.push_back(std::make_unique<File>(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
    // Some are taken at once, and others wait.
    static_cast<void>(connect(waiting.back()->number, reinterpret_cast<const sockaddr*>(&full), sizeof full));
  }
  watch(watcher, waiting.back()->number);
  EXPECT_EQ(looks(sockets, kConnectingLooks - 1), "");
  EXPECT_EQ(looks(sockets, 2), "the host being connected to");
}

}  // namespace
}  // namespace baleen::ucx
