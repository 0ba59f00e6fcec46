/// \file A cable that is cut, or carries in one direction only: both sides end, and say what they see.
#include "two_hosts.hpp"

namespace baleen::test {
namespace {

TEST_F(TwoHosts, NoticeACutCable) {
  expect_end_within(
      seconds(5), [this] { start_working(); }, [this] { networks.cut_cable(); }, 4,
      {"error: host " + networks.name(1) + ": the connection broke: "});
}

class OneWay : public TwoHosts, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Mute, OneWay, testing::Values(0, 1));

TEST_P(OneWay, IsNoticedByBothHosts) {
  expect_end_within(
      seconds(5), [this] { start_working(); }, [this] { networks.mute(GetParam()); }, 4,
      {"error: host " + networks.name(1) + ": the connection broke: "});
}

}  // namespace
}  // namespace baleen::test
