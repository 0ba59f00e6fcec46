/// \file Overflow that is forced: a scale so large that gradients in fp16 are infinite at first. The run survives it,
/// counts the steps that it skips, and skips the same ones on any number of ranks.
#include <cmath>

#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

constexpr const char* kHuge = "initial_scale = 1e8\n";
constexpr int kSteps = 24;

LoggedRun run_on(int ranks, const std::string& options) {
  const std::string data = ranks > 1 ? plan_entry("zero", "stage = 2\n") : "";
  return logged_run("gpt", manifest_of({{"data", ranks}}, data + precision("fp16", options)), {"clip=1"}, kSteps);
}

TEST(PrecisionOverflow, IsSurvivedCountedAndSkippedOnEveryRank) {
  std::vector<double> scales, skipped, losses;
  for (const int ranks : {1, 2, 4}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const LoggedRun run = run_on(ranks, kHuge);
    ASSERT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
    const std::vector<double> own_skipped = run.steps("skipped"), own_scales = run.steps("loss_scale");
    ASSERT_EQ(own_skipped.size(), static_cast<std::size_t>(kSteps));
    // Several at the start, and then no more.
    EXPECT_GE(own_skipped.back(), 3);
    EXPECT_LE(own_skipped.back(), 12);
    EXPECT_EQ(own_skipped[0], 1);
    EXPECT_EQ(own_skipped[kSteps / 2], own_skipped.back());
    for (std::size_t i = 0; i < own_skipped.size(); ++i)
      EXPECT_EQ(own_scales[i], 1e8 * std::pow(0.5, own_skipped[i])) << i;
    EXPECT_NE(run.result.out.find("skipped"), std::string::npos) << "the closing summary shows it";
    EXPECT_EQ((run.result.out + run.result.err).find("the loss is not finite"), std::string::npos);
    if (ranks == 1) {
      scales = own_scales, skipped = own_skipped, losses = run.steps("loss");
      continue;
    }
    EXPECT_EQ(own_skipped, skipped);
    EXPECT_EQ(own_scales, scales);
    // A rank that took a step which others skipped would go another way from there.
    const std::vector<double> own = run.steps("loss");
    for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], losses[i], 5e-4 * losses[i]) << i;
  }
}

/// While steps are skipped nothing is learnt: the same batch has the same loss. The learning rate goes on.
TEST(PrecisionOverflow, ASkippedStepLeavesTheModelAsItIs) {
  const LoggedRun huge = run_on(1, kHuge), fixed = run_on(1, "loss_scale = 1024\n");
  ASSERT_EQ(huge.result.exit_code, 0) << huge.result.err;
  const std::vector<double> skipped = huge.steps("skipped"), with = huge.steps("loss"), without = fixed.steps("loss");
  EXPECT_EQ(with[0], without[0]);
  EXPECT_NE(with[1], without[1]) << "the first update was left out";
  EXPECT_EQ(huge.steps("lr"), fixed.steps("lr"));
  EXPECT_EQ(fixed.steps("skipped").back(), 0);
}

/// A fixed scale cannot give way: the run says what is wrong, and ends.
TEST(PrecisionOverflow, ThatNeverEndsIsAnError) {
  const LoggedRun run = run_on(2, "loss_scale = 1e12\npatience = 5\n");
  EXPECT_EQ(run.result.exit_code, 2) << run.result.out << run.result.err;
  for (const char* words : {"step 5: ", "5 steps in a row were skipped", "take a smaller `loss_scale`"})
    EXPECT_NE(run.result.err.find(words), std::string::npos) << run.result.err;
  EXPECT_EQ(run.steps("skipped").size(), 5u);
}

}  // namespace
}  // namespace baleen::test
