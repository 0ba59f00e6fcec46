/// \file Ranks that die and networks that carry nothing: every survivor leaves its call, and says who is lost and why.
#include <tuple>

#include "ranks_on_hosts.hpp"

namespace baleen::test {
namespace {

// Seconds until every survivor has left every call.
constexpr double kDeathSeen = 1, kAllOut = 5;

/// Whether ranks have data under way all the time when it happens, or wait for one that does not come; and whether
/// their messages are encrypted.
class Losses : public RanksOnHosts, public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  std::string work(const std::function<void()>& strike) {
    const auto [busy, encrypts] = GetParam();
    return run(
        {{"encrypt", encrypts ? "true" : "false"}}, [this, busy](Rank& rank) { work_until_lost(rank, busy); }, strike);
  }
};
INSTANTIATE_TEST_SUITE_P(When, Losses, testing::Combine(testing::Bool(), testing::Bool()), [](const auto& info) {
  return std::string(std::get<0>(info.param) ? "Busy" : "Waiting") + (std::get<1>(info.param) ? "Encrypted" : "");
});

TEST_P(Losses, OfAKilledRankAreToldByAll) {
  expect_kept(kDeathSeen, [&] {
    return expect_told(work([this] { kill(stage.process[3], SIGKILL); }), {0, 1, 2}, {"rank 3 has left"});
  });
}

TEST_P(Losses, OfACableAreToldByBothHosts) {
  expect_kept(kAllOut, [&] {
    networks.mend();
    const std::string said = work([this] { networks.cut_cable(); });
    EXPECT_EQ(networks.missing(), "");
    return expect_told(said, {0, 1, 2, 3}, {"acknowledged nothing for more than 3 seconds"});
  });
}

TEST_P(Losses, OfOneDirectionAreToldByBothHosts) {
  expect_kept(kAllOut, [&] {
    networks.mend();
    const std::string said = work([this] { networks.lose(1, 1); });
    return networks.missing().empty() ? expect_told(said, {0, 1, 2, 3}, {}) : 0;
  });
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
}

class Beginnings : public RanksOnHosts {};

void expect_firewall(const std::string& said) {
  for (const char* rank : {"rank 0: ", "rank 1: ", "rank 2: ", "rank 3: "})
    EXPECT_NE(said.find(std::string(rank) + "ucx: connecting to rank "), said.npos) << said;
  EXPECT_NE(said.find("a firewall that drops"), said.npos) << said;
}

TEST_F(Beginnings, BehindAFirewallSaySo) {
  networks.lose(1, 1);
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  for (const char* encrypts : {"false", "true"}) expect_firewall(run({{"encrypt", encrypts}}, [](Rank&) {}));
}

}  // namespace
}  // namespace baleen::test
