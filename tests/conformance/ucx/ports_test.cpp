/// \file Where ranks listen: on one host nobody beyond it can reach them.
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
                      expect(test::listening_of({getpid()}).size() > 0, "UCX listens nowhere");
                    }),
            "");
  unsetenv("UCX_NET_DEVICES");
}

}  // namespace
}  // namespace baleen::conformance
