/// \file A real training on two hosts: what a user sees when a rank, a launcher or the cable is lost.
#include "training.hpp"

namespace baleen::test {
namespace {

class LossesInTraining : public TrainingOnTwoHosts {
 protected:
  void expect_loss(seconds promise, const std::function<void()>& strike, const std::vector<std::string>& parts,
                   int code = 4) {
    expect_end_within(
        promise, [this] { train_for_ever(); }, strike, code, parts);
  }
  std::string other_host() const { return "error: host " + networks.name(1) + ": "; }
};

TEST_F(LossesInTraining, OfAKilledRank) {
  expect_loss(seconds(1), [this] { hit(process_called(1, "baleen rank 3"), SIGKILL); },
              {"error: rank 3 on " + networks.name(1), ": killed by SIGKILL"});
}

TEST_F(LossesInTraining, OfAStoppedRank) {
  expect_loss(seconds(5), [this] { hit(process_called(1, "baleen rank 2"), SIGSTOP); },
              {"error: rank 2 on " + networks.name(1), ": stopped by a signal"});
}

TEST_F(LossesInTraining, OfAKilledLauncher) {
  expect_loss(seconds(3), [this] { hit(process_called(1, "baleen"), SIGKILL); },
              {other_host() + "its launcher has ended"});
}

TEST_F(LossesInTraining, OfTheCable) {
  expect_loss(seconds(5), [this] { networks.cut_cable(); }, {other_host() + "the connection broke: "});
}

TEST_F(LossesInTraining, OfOneDirection) {
  expect_loss(seconds(5), [this] { networks.lose(0, 1); }, {other_host() + "the connection broke: "});
  if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
}

TEST_F(LossesInTraining, OfPatienceAtTheKeyboard) {
  expect_loss(
      seconds(5), [this] { job->kill(SIGINT); }, {}, 128 + SIGINT);
}

}  // namespace
}  // namespace baleen::test
