/// \file A cable that is cut, or carries in one direction only: both sides end, and say what they see.
#include "two_hosts.hpp"

namespace baleen::test {
namespace {

TEST_F(TwoHosts, NoticeACutCable) {
  start_working();
  since = std::chrono::steady_clock::now();
  networks.cut_cable();
  expect_end(4, seconds(12), {"error: host " + networks.name(1) + ": the connection broke: "});
}

class OneWay : public TwoHosts, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Mute, OneWay, testing::Values(0, 1));

TEST_P(OneWay, IsNoticedByBothHosts) {
  start_working();
  since = std::chrono::steady_clock::now();
  networks.mute(GetParam());
  expect_end(4, seconds(12), {"error: host " + networks.name(1) + ": the connection broke: "});
}

}  // namespace
}  // namespace baleen::test
