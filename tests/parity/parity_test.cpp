/// \file N ranks compute what one rank computes: `baleen verify`, in fp64, over scripts, numbers of ranks and what a
/// step may hold. Every case is compared with a run of one rank within the tolerance that verify states.
#include "parity/parity_run.hpp"
#include "support/losses.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string script;
  int ranks;
  std::vector<std::string> arguments;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.script << " on " << c.ranks;
  for (const std::string& word : c.arguments) *out << " " << word;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  const Case& c = info.param;
  return test_name("", {{"data", c.ranks}}, c.script, c.arguments).substr(1);
}

class Parity : public ::testing::TestWithParam<Case> {};

TEST_P(Parity, RanksComputeWhatOneRankComputes) {
  verify_parity(GetParam().script, manifest_of({{"data", GetParam().ranks}}, ""), GetParam().arguments);
}

std::vector<Case> cases() {
  const std::vector<std::vector<std::string>> gpt = {
      {},
      {"accumulate=2", "clip=0.5"},
      {"dropout=0.2"},
      {"masked=32"},
      {"masked=101", "accumulate=4", "dropout=0.1", "clip=1", "optimizer=lamb"},
      {"bucket_mb=0.001", "clip=1"},
  };
  std::vector<Case> all;
  for (int ranks : {2, 3, 4, 8}) {
    for (const auto& arguments : gpt) all.push_back({"gpt", ranks, arguments});
    all.push_back({"mlp", ranks, {}});
    all.push_back({"mlp", ranks, {"batch=26", "accumulate=2", "clip=0.1"}});
  }
  all.push_back({"gpt", 1, gpt[4]});                        // the strategy on a mesh of one
  all.push_back({"gpt", 3, {"batch=10", "accumulate=2"}});  // 5 rows: 2, 2 and 1
  all.push_back({"gpt", 4, {"batch=5"}});                   // 2, 2, 1 and none
  all.push_back({"mlp", 8, {"batch=9", "clip=1"}});         // 2, 2, 2, 2, 1 and none
  for (const char* accumulate : {"accumulate=1", "accumulate=3"})
    for (const int ranks : {2, 4}) all.push_back({"statistic", ranks, {accumulate}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Data, Parity, ::testing::ValuesIn(cases()), name_of);

/// A statistic over the batch is one over all of its micro-batches, and so is its gradient.
TEST(Statistic, IsThatOfTheBatchHoweverItIsCut) {
  const auto losses = [](const std::string& accumulate) {
    const TemporaryFolder folder;
    const std::string log = folder / "log.jsonl";
    const ProcessResult result = run_baleen({"run", source_dir() + "/tests/parity/statistic.lua", "--dtype", "fp64",
                                             "--log-json", log, "--", "--accumulate", accumulate});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return losses_in(log);
  };
  const auto whole = losses("1");
  ASSERT_EQ(whole.size(), 5u);
  for (const char* accumulate : {"2", "3", "12"}) {
    const auto cut = losses(accumulate);
    ASSERT_EQ(cut.size(), whole.size());
    for (std::size_t i = 0; i < cut.size(); ++i)
      EXPECT_NEAR(std::stod(cut[i]), std::stod(whole[i]), 1e-12) << accumulate << ", step " << i;
  }
}

/// The manifest that the README names.
TEST(Example, OfMixedStrategiesComputesWhatOneRankComputes) {
  const std::string manifest = source_dir() + "/examples/clusters/mixed.toml";
  if (const std::string missing = missing_strategy(read_file(manifest)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  expect_equal(run_baleen({"verify", source_dir() + "/tests/parity/gpt.lua", "--manifest", manifest, "--", "--data",
                           source_dir() + "/tests/golden/whales.txt", "--heads=4"}));
}

}  // namespace
}  // namespace baleen::test
