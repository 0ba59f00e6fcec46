/// \file The cable between the hosts of a training, cut or deaf in one direction at a random moment: the other host is
/// named in time.
#include <random>

#include "support/seed.hpp"
#include "training.hpp"

namespace baleen::test {
namespace {

class DeadLinks : public TrainingOnTwoHosts {};

TEST_F(DeadLinks, AreNamedWithTheirHost) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < BALEEN_DEAD_LINKS && !HasFailure(); ++i) {
    const int muted = static_cast<int>(random() % 3) - 1;  // -1: both directions
    const std::chrono::milliseconds pause(random() % 1'500);
    SCOPED_TRACE((muted < 0 ? "cut" : "host " + std::to_string(muted) + " mute") + " after " +
                 std::to_string(pause.count()) + " ms");
    expect_end_within(
        seconds(5),
        [&] {
          train_for_ever();
          std::this_thread::sleep_for(pause);
        },
        [&] { muted < 0 ? networks.cut_cable() : networks.mute(muted); }, 4,
        {"error: host " + networks.name(1) + ": the connection broke: "});
  }
}

}  // namespace
}  // namespace baleen::test
