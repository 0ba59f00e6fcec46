/// \file mode = "auto": what a rank holds is within the budget, whatever stands beside it; the same numbers to the last
/// bit; and a budget that cannot be met.
#include "parity/recompute/recompute_run.hpp"

namespace baleen::test {
namespace {

/// Activations and inputs of the rank that holds most.
double held(const std::string& manifest, const std::vector<std::string>& arguments = {}) {
  return most_of(planned_classes(manifest, arguments), "working_value_bytes");
}

/// The number behind `words`.
std::uint64_t number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  EXPECT_NE(at, std::string::npos) << words << " in " << text;
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + words.size()));
}

/// What is possible at least, by a budget that is not.
std::uint64_t least(const std::string& manifest, const std::vector<std::string>& arguments = {}) {
  const ProcessResult refused = run_recompute({"plan"}, manifest + budget_entry(1), arguments);
  EXPECT_EQ(refused.exit_code, 3) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("strategy `recompute`, recompute: `budget_mb` is "), std::string::npos) << refused.err;
  return number_after(refused.err, "the forward and backward pass hold at least ");
}

struct Case {
  std::string name;
  Mix mix;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BudgetOf : public ::testing::TestWithParam<Case> {};

TEST_P(BudgetOf, BoundsWhatARankHolds) {
  const std::string manifest = manifest_for(GetParam().mix);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  for (const std::vector<std::string>& arguments : {std::vector<std::string>(), {"accumulate=2"}}) {
    const double without = held(manifest, arguments);
    const std::uint64_t lowest = least(manifest, arguments);
    EXPECT_LT(static_cast<double>(lowest), 0.7 * without);
    for (const double share : {0.0, 0.3, 0.7}) {
      const auto budget = lowest + static_cast<std::uint64_t>(share * (without - static_cast<double>(lowest)));
      EXPECT_LE(held(manifest + budget_entry(budget), arguments), static_cast<double>(budget))
          << share << " between " << lowest << " and " << without;
    }
    EXPECT_EQ(held(manifest + budget_entry(2 * static_cast<std::uint64_t>(without)), arguments), without)
        << "nothing runs again";
  }
}

TEST_P(BudgetOf, ChangesNoDigit) {
  const std::string manifest = manifest_for(GetParam().mix);
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder folder;
  std::vector<Losses> losses;
  for (const std::uint64_t budget : {std::uint64_t{0}, least(manifest, {"dropout=0.1"})}) {
    const std::string log = folder / ("log" + std::to_string(losses.size()));
    const ProcessResult result =
        run_recompute({"run", "--steps", "5", "--log-json", log}, manifest + budget_entry(budget), {"dropout=0.1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    losses.push_back(losses_in(log));
  }
  EXPECT_EQ(losses[0].size(), 5u);
  EXPECT_EQ(losses[0], losses[1]);
}

INSTANTIATE_TEST_SUITE_P(Recompute, BudgetOf,
                         ::testing::Values(Case{"One", {}}, Case{"Data", {.data = 2}},
                                           Case{"Zero3", {.data = 2, .stage = 3}},
                                           Case{"Tensor", {.tensor = 2, .products = "1d"}},
                                           Case{"Ring", {.sequence = 2, .attention = "ring"}}),
                         [](const auto& info) { return info.param.name; });

/// The bytes that a run allocates, not those of a plan: what a rank's arenas have beside the model states.
TEST(Budget, BoundsWhatIsAllocated) {
  const auto allocated = [&](std::uint64_t budget) {
    const TemporaryFolder folder;
    const std::string log = folder / "log";
    const ProcessResult result = run_recompute({"run", "--steps", "1", "--log-json", log}, budget_entry(budget));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return accounts_in(read_file(log), 1).at(0).at("allocated_bytes");
  };
  const double without = held("");
  const std::uint64_t lowest = least("");
  EXPECT_LE(allocated(lowest), allocated(0) - (without - static_cast<double>(lowest)) / 2);
}

/// Where the strategy has no budget of its own the manifest's holds, of which an eighth is kernels'.
TEST(Budget, IsTheManifestsWhereTheStrategyHasNone) {
  const auto planned = [](double bytes, const std::string& entry) {
    char text[64];
    std::snprintf(text, sizeof text, "[memory]\nactivations_mb = %.17g\n", bytes / 1048576);
    return run_parity({"plan", "--json"}, "gpt", text + entry, {"layers=4", "dim=128", "heads=4", "context=64"});
  };
  const auto classes = [](const ProcessResult& result) { return nlohmann::json::parse(result.out).at("classes"); };
  const double without = most_of(classes(planned(1e9, "")), "working_bytes"), budget = 0.6 * without;
  EXPECT_EQ(planned(budget, "").exit_code, 3);
  const ProcessResult within = planned(budget, recompute_entry("auto")),
                      loose = planned(2 * without, recompute_entry("auto"));
  ASSERT_EQ(within.exit_code, 0) << within.err;
  ASSERT_EQ(loose.exit_code, 0) << loose.err;
  EXPECT_LE(most_of(classes(within), "working_bytes"), budget);
  EXPECT_GT(most_of(classes(within), "recomputed_flops"), 0);
  EXPECT_EQ(most_of(classes(loose), "recomputed_flops"), 0);
  const ProcessResult refused = planned(8 * 1048576 / 7.0, recompute_entry("auto"));
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find("seven eighths of the manifest's `activations_mb` are 0.99999"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace baleen::test
