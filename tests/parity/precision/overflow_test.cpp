/// \file Overflow that is forced: a scale so large that gradients in fp16 are infinite at first. The run survives it,
/// counts the steps that it skips, and skips the same ones on any number of ranks.
#include <cmath>

#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

constexpr const char* kHuge = "initial_scale = 1e8\n";
constexpr int kSteps = 24;

LoggedRun run_on(int ranks, const std::string& options, const std::vector<std::string>& arguments = {"clip=1"}) {
  const std::string data = ranks > 1 ? plan_entry("zero", "stage = 2\n") : "";
  return logged_run("gpt", manifest_of({{"data", ranks}}, data + precision("fp16", options)), arguments, kSteps);
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

/// While steps are skipped nothing is learnt, while data and learning rate go on: the losses are those of a run that
/// learns nothing at all, bit for bit, up to that of the first step that counts.
TEST(PrecisionOverflow, ASkippedStepLeavesTheModelAsItIs) {
  for (const int ranks : {1, 2}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    const LoggedRun huge = run_on(ranks, kHuge), still = run_on(ranks, "loss_scale = 1024\n", {"clip=1", "lr=0"});
    ASSERT_EQ(huge.result.exit_code, 0) << huge.result.err;
    ASSERT_EQ(still.result.exit_code, 0) << still.result.err;
    const std::vector<double> skipped = huge.steps("skipped"), with = huge.steps("loss"), without = still.steps("loss");
    ASSERT_EQ(with.size(), static_cast<std::size_t>(kSteps));
    ASSERT_EQ(without.size(), with.size());
    EXPECT_EQ(still.steps("skipped").back(), 0);
    std::size_t counts = 0;  // the first step that does, from 0
    while (counts < skipped.size() && skipped[counts] == static_cast<double>(counts + 1)) ++counts;
    ASSERT_GE(counts, 3u);
    ASSERT_LT(counts + 1, with.size());
    for (std::size_t i = 0; i <= counts; ++i) EXPECT_EQ(with[i], without[i]) << "step " << i + 1;
    EXPECT_NE(with[counts + 1], without[counts + 1]) << "the first step that counts was left out";
  }
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
