/// \file `deterministic = false` in [transport]: what is computed stays right, and people are told what it means.
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

constexpr const char* kNote = "sums of several ranks may differ in their last bits from run to run: `deterministic = ";

std::string manifest_with(const std::string& key, int ranks = 3) {
  return manifest_of({{"data", ranks}}, "[transport]\n" + key);
}

TEST(OrderOfSums, IsEqualWithinTheToleranceWhereItIsFree) {
  const ProcessResult result = run_parity({"verify"}, "mlp", manifest_with("deterministic = false\n"), {});
  expect_equal(result);
  EXPECT_NE(result.out.find(kNote), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("ranks.toml:7:17)\n"), std::string::npos) << result.out;
}

TEST(OrderOfSums, IsNoMatterWhereItIsTheSame) {
  for (const char* key : {"", "deterministic = true\n"}) {
    const ProcessResult result = run_parity({"verify"}, "mlp", manifest_with(key), {});
    expect_equal(result);
    EXPECT_EQ(result.out.find(kNote), std::string::npos) << result.out;
  }
}

TEST(OrderOfSums, IsANoteOfThePlan) {
  const auto plan = [](const std::string& key, int ranks) {
    return run_parity({"plan"}, "mlp", manifest_with(key, ranks), {}).out;
  };
  EXPECT_NE(plan("deterministic = false\n", 3).find(kNote), std::string::npos);
  EXPECT_EQ(plan("", 3).find(kNote), std::string::npos);
  EXPECT_EQ(plan("deterministic = false\n", 1).find(kNote), std::string::npos);  // nothing is summed
}

}  // namespace
}  // namespace baleen::test
