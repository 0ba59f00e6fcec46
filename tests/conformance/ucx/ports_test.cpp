/// \file Where ranks listen and connect: on one host nobody beyond it can reach them.
#include <sys/socket.h>

#include "support/listening.hpp"
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

int ports_beyond_loopback() {
  const auto all = test::listening_of({getpid()});
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [](const test::Listening& one) { return one.address != "127.0.0.1"; }));
}

TEST(Ports, OfOneHostAreTheLoopbacks) {
  EXPECT_EQ(run_ucx(2, {{"tls", "tcp"}},
                    [](Rank& rank) {
                      expect_sum(rank, rank.world(), 50'000);
                      expect(!test::listening_of({getpid()}).empty(), "UCX listens nowhere: nothing is seen here");
                      expect(ports_beyond_loopback() == 0, "strangers can reach a port");
                    }),
            "");
}

TEST(Ports, AreOpenedWhereTheEnvironmentSays) {
  ASSERT_EQ(setenv("UCX_NET_DEVICES", "all", 1), 0);
  EXPECT_EQ(run_ucx(2, {{"tls", "tcp"}},
                    [](Rank& rank) {
                      expect_sum(rank, rank.world(), 50'000);
                      expect(!test::listening_of({getpid()}).empty(), "UCX listens nowhere");
                    }),
            "");
  unsetenv("UCX_NET_DEVICES");
}

/// Of this process, over IP.
int connections() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    const int file = std::stoi(entry.path().filename());
    if (getpeername(file, reinterpret_cast<sockaddr*>(&peer), &size) == 0)
      found += peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
  }
  return found;
}

TEST(Ports, OfEncryptedRanksOfOneHostAreNotUsed) {
  const auto body = [](int wanted) {
    return [wanted](Rank& rank) {
      expect_sum(rank, rank.world(), 50'000);
      expect((connections() > 0) == (wanted > 0), std::to_string(connections()) + " connections over IP");
    };
  };
  EXPECT_EQ(run_ucx(3, {{"encrypt", "true"}}, body(0)), "");
  EXPECT_EQ(run_ucx(3, {{"tls", "tcp"}, {"direct", "false"}}, body(1)), "") << "nothing is seen here";
}

}  // namespace
}  // namespace baleen::conformance
