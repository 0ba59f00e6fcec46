/// \file A real training over a network that is slow, loses packets, or damages one.
#include "training.hpp"

namespace baleen::test {
namespace {

constexpr int kSteps = 3;

class TrainingOverABadNetwork : public TrainingOnTwoHosts {
 protected:
  /// The same losses as of one host, bit for bit; and nobody is taken for dead.
  void expect_the_same_losses(const std::string& options = "") {
    const Losses wanted = losses_of_one_host(kSteps);
    EXPECT_EQ(wanted.size(), static_cast<std::size_t>(kSteps));
    train(kSteps, options);
    EXPECT_EQ(job->ends(std::chrono::minutes(4)), 0) << job->out() << job->err();
    EXPECT_EQ(losses(), wanted);
    EXPECT_EQ(job->err().find("error"), std::string::npos) << job->err();
    for (const int host : {0, 1}) EXPECT_TRUE(is_empty(host)) << "an orphan is left on host " << host;
  }
};

// All gradients of a step take three seconds and a half.
TEST_F(TrainingOverABadNetwork, OfAMegabitPerSecondTakesItsTime) {
  networks.slow_down("1mbit");
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  expect_the_same_losses();
}

// Where two of the packets that open a connection are lost, one connection in a hundred, Linux sends the third after 3
// s: on a busy machine the usual patience of 3.25 s may be over then.
TEST_F(TrainingOverABadNetwork, ThatLosesOnePacketInTwentyGoesOn) {
  for (const int host : {0, 1}) networks.lose(host, 0.05);
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  expect_the_same_losses(", patience = 8");
  for (const int host : {0, 1}) EXPECT_GT(networks.lost(host), 0);
}

TEST_F(TrainingOverABadNetwork, IsTheSameEncrypted) {
  for (const int host : {0, 1}) networks.lose(host, 0.01);
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  expect_the_same_losses(", encrypt = true");
}

/// Longer than a host is waited for where nobody asks for patience (LossesInTraining.OfTheCable).
TEST_F(TrainingOverABadNetwork, ThatIsGoneForAWhileGoesOnWithPatience) {
  constexpr int kMany = 600;
  const Losses wanted = losses_of_one_host(kMany);
  train(kMany, ", patience = 30", "[launcher]\npatience = 30\n");
  ASSERT_TRUE(job->prints("step 1/")) << job->err();
  networks.cut_cable();
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  std::this_thread::sleep_for(seconds(6));
  const std::size_t steps = losses().size();
  EXPECT_LT(steps, wanted.size()) << "the cable was cut too late";
  networks.mend();
  EXPECT_EQ(job->ends(std::chrono::minutes(1)), 0) << job->out() << job->err();
  EXPECT_EQ(losses(), wanted);
}

struct Laid {
  DamagingCable cable;
};
class TrainingOverADamagingCable : private Laid, public TrainingOnTwoHosts {
 protected:
  TrainingOverADamagingCable() : TrainingOnTwoHosts(cable.lay()) {}
  void damage() { cable.damage_next(); }
};

TEST_F(TrainingOverADamagingCable, EndsWithTheNamesOfBothRanks) {
  expect_end_within(
      seconds(5), [this] { train_for_ever(", integrity = true"); }, [this] { damage(); }, 2,
      {"error: rank ", " on baleen", ": ucx: a message of ", " was damaged on its way (xxh3 0x",
       "; look for a bad cable, card or memory on the two hosts"});
}

}  // namespace
}  // namespace baleen::test
