/// \file A real training on two hosts: what a user sees when a rank, a launcher or the cable is lost.
#include "training.hpp"

namespace baleen::test {
namespace {

class LossesInTraining : public TrainingOnTwoHosts {
 protected:
  void SetUp() override {
    TrainingOnTwoHosts::SetUp();
    if (!IsSkipped()) train_for_ever();
  }
};

TEST_F(LossesInTraining, OfAKilledRank) {
  hit(process_called(1, "baleen rank 3"), SIGKILL);
  expect_end(4, seconds(5), {"error: rank 3 on " + networks.name(1), ": killed by SIGKILL"});
}

TEST_F(LossesInTraining, OfAStoppedRank) {
  hit(process_called(1, "baleen rank 2"), SIGSTOP);
  expect_end(4, seconds(5), {"error: rank 2 on " + networks.name(1), ": stopped by a signal"});
}

TEST_F(LossesInTraining, OfAKilledLauncher) {
  hit(process_called(1, "baleen"), SIGKILL);
  expect_end(4, seconds(5), {"error: host " + networks.name(1) + ": its launcher has ended"});
}

TEST_F(LossesInTraining, OfTheCable) {
  networks.cut_cable();
  expect_end(4, seconds(8), {"error: host " + networks.name(1) + ": the connection broke: "});
}

TEST_F(LossesInTraining, OfOneDirection) {
  networks.lose(0, 1);
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  expect_end(4, seconds(8), {"error: host " + networks.name(1) + ": the connection broke: "});
}

TEST_F(LossesInTraining, OfPatienceAtTheKeyboard) {
  job->kill(SIGINT);
  expect_end(128 + SIGINT, seconds(5), {});
}

}  // namespace
}  // namespace baleen::test
