/// \file A strategy that has forward ops run again within a budget of bytes: what a rank holds, the same numbers to the
/// last digit, and a budget that cannot be met.
#include <nlohmann/json.hpp>

#include "parity/mixes/mix.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

/// 0: without the strategy.
std::string with_budget(const Mix& mix, std::uint64_t bytes) {
  return manifest_of(mix) + (bytes == 0 ? "" : plan_entry("budget", "budget = " + std::to_string(bytes) + "\n"));
}

ProcessResult run(std::vector<std::string> command, const std::string& manifest,
                  std::vector<std::string> arguments = {}) {
  command.insert(command.end(), {"--plugin-path", AGAIN_FOLDER});
  arguments.insert(arguments.end(), {"layers=6", "dim=32", "heads=4", "context=32"});
  return run_parity(std::move(command), "gpt", manifest, arguments);
}

/// What a rank holds beside model states, but for what kernels need for themselves.
std::uint64_t held(const std::string& manifest, const std::vector<std::string>& arguments = {}) {
  const ProcessResult result = run({"plan", "--json"}, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  if (result.exit_code != 0) return 0;
  std::uint64_t most = 0;
  const auto plan = nlohmann::json::parse(result.out);
  for (const auto& one : plan.at("classes")) {
    const auto& planned = one.at("planned_bytes");
    most = std::max(most, planned.at("activations").get<std::uint64_t>() + planned.at("inputs").get<std::uint64_t>());
  }
  return most;
}

/// The number behind `words`.
std::uint64_t number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  EXPECT_NE(at, std::string::npos) << words << " in " << text;
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + words.size()));
}

/// What is possible at least, by a budget that is not.
std::uint64_t least(const Mix& mix, const std::vector<std::string>& arguments = {}) {
  const ProcessResult refused = run({"plan"}, with_budget(mix, 1), arguments);
  EXPECT_EQ(refused.exit_code, 3) << refused.out << refused.err;
  EXPECT_NE(refused.err.find("strategy `budget`, recompute: `budget` is 1 bytes"), std::string::npos) << refused.err;
  return number_after(refused.err, "the forward and backward pass hold ");
}

struct Case {
  std::string name;
  Mix mix;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class BudgetOf : public ::testing::TestWithParam<Case> {};

TEST_P(BudgetOf, BoundsWhatARankHolds) {
  const Mix& mix = GetParam().mix;
  if (const std::string missing = missing_strategy(manifest_of(mix)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const std::vector<std::string> micro{"accumulate=2"};
  for (const auto& arguments : {std::vector<std::string>(), micro}) {
    const std::uint64_t without = held(with_budget(mix, 0), arguments), lowest = least(mix, arguments);
    if (mix.stage == 3) {  // parameters are gathered ahead of use, as `zero` says after this phase
      EXPECT_LT(held(with_budget(mix, lowest), arguments), without / 2);
      return;
    }
    EXPECT_LT(lowest, 3 * without / 4);
    for (const double share : {0.0, 0.5}) {
      const auto budget = lowest + static_cast<std::uint64_t>(share * static_cast<double>(without - lowest));
      EXPECT_LE(held(with_budget(mix, budget), arguments), budget)
          << share << " between " << lowest << " and " << without;
    }
    EXPECT_EQ(held(with_budget(mix, 2 * without), arguments), without) << "nothing runs again";
  }
}

TEST_P(BudgetOf, ChangesNoDigit) {
  const Mix& mix = GetParam().mix;
  if (const std::string missing = missing_strategy(manifest_of(mix)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder folder;
  std::vector<Losses> losses;
  for (const std::uint64_t budget : {std::uint64_t{0}, least(mix, {"dropout=0.1"})}) {
    const std::string log = folder / ("log" + std::to_string(losses.size()));
    const ProcessResult result =
        run({"run", "--steps", "5", "--log-json", log}, with_budget(mix, budget), {"dropout=0.1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    losses.push_back(losses_in(log));
  }
  EXPECT_EQ(losses[0].size(), 5u);
  EXPECT_EQ(losses[0], losses[1]);
}

INSTANTIATE_TEST_SUITE_P(Recompute, BudgetOf,
                         ::testing::Values(Case{"Data", {.data = 2}}, Case{"Zero3", {.data = 2, .stage = 3}},
                                           Case{"Tensor", {.tensor = 2, .products = "1d"}}),
                         [](const auto& info) { return info.param.name; });

/// The bytes that a run allocates, not those of a plan: what a rank's arenas have beside the model states.
TEST(Budget, BoundsWhatIsAllocated) {
  if (!has_plugin("strategy", "data")) GTEST_SKIP() << "no strategy `data` in this tree";
  const Mix mix{.data = 2};
  const auto allocated = [&](std::uint64_t budget) {
    const TemporaryFolder folder;
    const std::string log = folder / "log";
    const ProcessResult result = run({"run", "--steps", "1", "--log-json", log}, with_budget(mix, budget));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return accounts_in(read_file(log), 2).at(0).at("allocated_bytes");
  };
  const std::uint64_t without = held(with_budget(mix, 0)), lowest = least(mix);
  EXPECT_LE(allocated(lowest), allocated(0) - static_cast<double>(without - lowest) / 2);
}

}  // namespace
}  // namespace baleen::test
