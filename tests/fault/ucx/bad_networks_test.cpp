/// \file Networks that carry less than they should, or something else.
#include "ranks_on_hosts.hpp"
#include "support/damaging_cable.hpp"

namespace baleen::test {
namespace {

class BadNetworks : public RanksOnHosts {};

TEST_F(BadNetworks, OfAMegabitPerSecondAreSlowAndNotDead) {
  networks.slow_down("1mbit");
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  const std::int64_t begin = now();
  EXPECT_EQ(run({}, [](Rank& rank) { Sum(rank, 50'000).run(); }), "");
  EXPECT_GT(1e-9 * static_cast<double>(now() - begin), 3.5) << "a connection may be silent for longer";
}

TEST_F(BadNetworks, ThatLoseOnePacketInTwentyLoseNoData) {
  networks.lose(0, 0.05);
  networks.lose(1, 0.05);
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  for (const char* encrypt : {"false", "true"})
    EXPECT_EQ(run({{"encrypt", encrypt}},
                  [](Rank& rank) {
                    Sum large(rank, 1'000'000), small(rank, 10);
                    for (int round = 0; round < 3; ++round) large.run(), small.run();
                  }),
              "");
  for (const int host : {0, 1}) EXPECT_GT(networks.lost(host), 0);
}

TEST_F(BadNetworks, StoppedPeersAreWaitedFor) {
  const std::string said = run(
      {},
      [this](Rank& rank) {
        Sum sum(rank, 4'000'000);
        sum.run();
        ++stage.ready;
        for (int round = 0; round < 3; ++round) sum.run();
      },
      [this] {
        kill(stage.process[2], SIGSTOP);
        usleep(6'000'000);
        kill(stage.process[2], SIGCONT);
      });
  EXPECT_EQ(said, "");
}

struct Laid {
  DamagingCable cable;
};
class Damage : private Laid, public RanksOnHosts {
 protected:
  Damage() : RanksOnHosts(cable.lay()) {}
  std::string work(const char* integrity, const char* encrypt = "false") {
    return run(
        {{"integrity", integrity}, {"encrypt", encrypt}},
        [this](Rank& rank) {
          Sum sum(rank, 40'000);
          sum.run();
          ++stage.ready;
          while (!stage.struck) usleep(100);
          for (int round = 0; round < 100; ++round) sum.run();
        },
        [this] { cable.damage_next(); });
  }
  bool has_damaged() const { return cable.has_damaged(); }
};

TEST_F(Damage, IsNamed) {
  const std::string said = work("true");
  EXPECT_TRUE(has_damaged());
  EXPECT_NE(said.find(" was damaged on its way (xxh3 0x"), said.npos) << said;
  EXPECT_NE(said.find("in all_reduce of 40000 fp32 at a.lua:1; look for a bad cable"), said.npos) << said;
}

TEST_F(Damage, EndsAnEncryptedConnection) {
  const std::string said = work("false", "true");
  EXPECT_TRUE(has_damaged());
  EXPECT_EQ(said.find("another sum"), said.npos) << said;
  EXPECT_NE(said.find("what came is not what was sent (TLS: "), said.npos) << said;
}

TEST_F(Damage, GoesUnseenWhereNobodyLooks) {
  EXPECT_NE(work("false").find("another sum"), std::string::npos);
  EXPECT_TRUE(has_damaged());
}

}  // namespace
}  // namespace baleen::test
