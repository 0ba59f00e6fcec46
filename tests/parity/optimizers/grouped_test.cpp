/// \file LAMB applied in groups: what the update holds at once falls, planned and allocated, and every bit stays.
#include "parity/mixes/mix.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

const std::vector<std::string> kArguments{"optimizer=lamb", "layers=6", "dim=128", "heads=4", "clip=0.5", "batch=3"};

std::vector<std::string> arguments_of(int groups) {
  std::vector<std::string> all = kArguments;
  all.push_back("groups=" + std::to_string(groups));
  return all;
}

/// Nearly all of the directions, in shards where they are in shards, are not held at once.
TEST(GroupedApply, HoldsAGroupAtATime) {
  for (const int stage : {1, 2}) {
    // Small buckets: gradients are in shards before the next ones are made, so that the peak is in the update.
    const std::string manifest =
        manifest_of({{"data", 2}}, plan_entry("zero", "stage = " + std::to_string(stage) + "\nbucket_mb = 0.25\n"));
    if (const std::string missing = missing_strategy(manifest); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
    const auto bytes = [&](int groups, const char* what) {
      double most = 0;
      for (const auto& rank : account_of("gpt", manifest, 2, arguments_of(groups)))
        most = std::max(most, rank.at(what));
      return most;
    };
    const double shards = bytes(1, "planned_bytes.parameters") / 2;
    for (const char* what : {"planned_bytes.total", "allocated_bytes"}) {
      const double one = bytes(1, what), four = bytes(4, what), sixteen = bytes(16, what);
      EXPECT_LT(four, one - shards) << what << ", stage " << stage;
      EXPECT_LT(sixteen, four) << what << ", stage " << stage;
    }
  }
}

TEST(GroupedApply, ChangesNoBit) {
  for (const Mix& mix : {Mix{.data = 2}, Mix{.data = 2, .stage = 1}, Mix{.data = 3, .stage = 2}}) {
    const auto trained = [&](int groups) {
      const TemporaryFolder folder;
      const std::string model = folder / "model.safetensors", log = folder / "log";
      const ProcessResult result = run_parity({"run", "--steps", "5", "--save", model, "--log-json", log}, "gpt",
                                              manifest_of(mix), arguments_of(groups));
      EXPECT_EQ(result.exit_code, 0) << result.err;
      return std::pair(losses_in(log), read_file(model));
    };
    const auto whole = trained(1);
    EXPECT_EQ(whole.first.size(), 5u);
    for (const int groups : {3, 1000}) EXPECT_TRUE(trained(groups) == whole) << groups << " groups";
  }
}

}  // namespace
}  // namespace baleen::test
