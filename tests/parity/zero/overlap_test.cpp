/// \file Which calls there are and what they hide behind: in the order of a traced step.
#include "parity/trace_run.hpp"

namespace baleen::test {
namespace {

std::string manifest(int stage, const std::string& options) {
  return manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n" + options);
}

/// All that fits goes in one call, shards or whole.
TEST(ZeroOverlap, ABucketIsOneCall) {
  const auto all = trace_of("gpt", manifest(1, "bucket_mb = 4\n"), {});
  EXPECT_EQ(calls_of(all, "reduce_scatter").size(), 1u);
  EXPECT_EQ(calls_of(all, "all_gather").size(), 1u);
  const auto gathered = trace_of("gpt", manifest(3, "bucket_mb = 4\n"), {});
  EXPECT_EQ(calls_of(gathered, "all_gather").size(), 1u);
}

/// All buckets but the last are on their way while the backward pass goes on.
TEST(ZeroOverlap, GradientsTravelBesideTheBackwardPass) {
  for (const int stage : {1, 2, 3}) {
    const auto spans = trace_of("gpt", manifest(stage, "bucket_mb = 0.02\n"), {});
    const std::vector<int> buckets = calls_of(spans, "reduce_scatter");
    ASSERT_GE(buckets.size(), 4u);
    for (std::size_t i = 0; i + 1 < buckets.size(); ++i) EXPECT_GT(hidden_behind(spans, buckets[i]), 0u) << stage;
  }
}

/// With `prefetch` = 1 the next bucket leaves before the present one is waited for, and so before it is used; without,
/// when it is needed.
TEST(ZeroOverlap, ParametersAreGatheredAheadOfUse) {
  const auto ahead = trace_of("gpt", manifest(3, "bucket_mb = 0.02\nprefetch = 1\n"), {});
  const auto late = trace_of("gpt", manifest(3, "bucket_mb = 0.02\nprefetch = 0\n"), {});
  const std::vector<int> buckets = calls_of(ahead, "all_gather");
  ASSERT_GE(buckets.size(), 8u);
  std::size_t hidden = 0;
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    EXPECT_LT(place_of(ahead, "begin", buckets[i]), place_of(ahead, "wait", buckets[i - 1]));
    hidden += hidden_behind(ahead, buckets[i]) > 0;
  }
  EXPECT_EQ(hidden, buckets.size() - 1);
  for (const int call : calls_of(late, "all_gather")) EXPECT_EQ(hidden_behind(late, call), 0u);
}

}  // namespace
}  // namespace baleen::test
