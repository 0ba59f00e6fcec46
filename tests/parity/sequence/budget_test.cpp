/// \file A budget for activations in the manifest: what it refuses, and that a ring trains within it on a sequence
/// eight times as long as one rank's.
#include "parity/plan/planned.hpp"
#include "sequence_run.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

constexpr int kTokens = 64, kRanks = 8;

class Budget : public ::testing::Test {
 protected:
  std::vector<std::string> arguments(int tokens) const {
    return {"batch=1", "heads=4", "layers=4", "context=" + std::to_string(tokens), "data=" + text_};
  }
  static std::string manifest(const std::string& budget, int ranks) {
    return sequence_manifest({{"sequence", ranks}}, {ring()}) +
           (budget.empty() ? "" : "[memory]\nactivations_mb = " + budget + "\n");
  }
  Planned plan(const std::string& budget, int ranks, int tokens) const {
    return plan_of("gpt", manifest(budget, ranks), arguments(tokens), {"--dtype", "fp64"});
  }
  /// What a rank holds at once beside model states.
  double working(int ranks, int tokens) const {
    const Planned planned = plan("", ranks, tokens);
    EXPECT_EQ(planned.exit_code, 0) << planned.err;
    double most = 0;
    for (const PlannedRanks& one : planned.classes) most = std::max(most, one.numbers.at("working_bytes"));
    return most;
  }
  /// MiB.
  static std::string mebibytes(double bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", bytes / 1048576);
    return text;
  }
  /// What kTokens take on one rank, so that no more fit there.
  std::string budget() const { return mebibytes(working(1, kTokens)); }
  static void expect_refused(const ProcessResult& result, const std::string& says) {
    expect_refusal(result, {.exit_code = 3,
                            .after_others = true,
                            .parts = {"ranks.toml:", "beside model states", "the budget is", says},
                            .before = Before::kNoStep});
  }

 private:
  const TemporaryFolder folder_;
  const std::string text_ = folder_.write("long.txt", [] {
    std::string text;
    while (text.size() < 8192) text += read_file(source_dir() + "/tests/golden/whales.txt");
    return text;
  }());
};

/// Before the first step, and by a plan, which names the ranks.
TEST_F(Budget, RefusesWhatOneRankCannotHold) {
  EXPECT_EQ(plan(budget(), 1, kTokens).exit_code, 0);
  EXPECT_EQ(plan(budget(), 1, kTokens + 1).exit_code, 3);
  const Planned planned = plan(budget(), 1, kRanks * kTokens);
  ProcessResult told;
  told.exit_code = planned.exit_code;
  told.err = planned.err;
  expect_refused(told, "rank 0: ");
  ASSERT_EQ(planned.classes.size(), 1u);
  EXPECT_FALSE(planned.classes[0].fits);
  for (const int ranks : {1, 2}) {
    const ProcessResult result = run_parity({"run", "--dtype", "fp64", "--steps", "1"}, "gpt",
                                            manifest(budget(), ranks), arguments(kRanks * kTokens));
    expect_refused(result, "`baleen plan` with this script and manifest tries what would fit");
  }
}

/// The one rank that `verify` compares with runs without a budget.
TEST_F(Budget, IsKeptByARingOnEightTimesTheSequence) {
  expect_equal(run_parity({"verify", "--steps", "4"}, "gpt", manifest(budget(), kRanks), arguments(kRanks * kTokens)),
               4);
}

/// Exactly what is held is enough, and a byte less is not.
TEST_F(Budget, CountsToTheByte) {
  const double bytes = working(2, 2 * kTokens);
  EXPECT_EQ(plan(mebibytes(bytes), 2, 2 * kTokens).exit_code, 0);
  EXPECT_EQ(plan(mebibytes(bytes - 1), 2, 2 * kTokens).exit_code, 3);
}

}  // namespace
}  // namespace baleen::test
