/// \file What a strategy does to gradients before they are summed takes neither buckets nor overlap away, nor changes
/// what is computed.
#include "parity/trace_run.hpp"

namespace baleen::test {
namespace {

std::string manifest(const std::string& plan, bool is_narrow = true) {
  return manifest_of({{"data", 2}}, "[[plan]]\n" + plan + (is_narrow ? "[[plan]]\nstrategy = \"narrow\"\n" : "") +
                                        "[plugins]\npaths = [\"" + std::string(NARROW_FOLDER) + "\"]\n");
}

/// How many calls begin before the last product of the backward pass, and how many there are.
std::pair<std::size_t, std::size_t> hidden_calls(const std::string& manifest, const std::string& kind) {
  const auto spans = trace_of("gpt", manifest, {});
  std::pair<std::size_t, std::size_t> found{0, 0};
  for (const int call : calls_of(spans, kind)) {
    ++found.second;
    found.first += hidden_behind(spans, call) > 0;
  }
  return found;
}

TEST(BeforeTheSum, SumsStayBesideTheBackwardPassInTheirBuckets) {
  const std::string data = "strategy = \"data\"\nbucket_mb = 0.02\n";
  const auto plain = hidden_calls(manifest(data, false), "all_reduce"),
             narrow = hidden_calls(manifest(data), "all_reduce");
  ASSERT_GE(plain.first, 4u);
  // Half of the bytes need fewer buckets, of which all but the last are under way.
  EXPECT_GE(2 * narrow.first, plain.first);
  EXPECT_LT(narrow.second, plain.second);
  EXPECT_LE(narrow.second - narrow.first, plain.second - plain.first);
}

TEST(BeforeTheSum, ScattersToo) {
  const auto calls = hidden_calls(manifest("strategy = \"zero\"\nstage = 2\nbucket_mb = 0.02\n"), "reduce_scatter");
  ASSERT_GE(calls.second, 3u);
  EXPECT_GE(calls.first + 1, calls.second);
}

class BeforeTheSum : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BeforeTheSum, RanksComputeWhatOneComputes) {
  const auto& [plan, accumulate] = GetParam();
  expect_equal(
      run_parity({"verify"}, "gpt", manifest(plan), {"layers=1", "dim=12", std::string("accumulate=") + accumulate}));
}
INSTANTIATE_TEST_SUITE_P(Over, BeforeTheSum,
                         ::testing::Values(std::pair("strategy = \"data\"\n", "1"),
                                           std::pair("strategy = \"data\"\n", "2"),
                                           std::pair("strategy = \"zero\"\nstage = 2\n", "4"),
                                           std::pair("strategy = \"zero\"\nstage = 3\n", "1")));

}  // namespace
}  // namespace baleen::test
