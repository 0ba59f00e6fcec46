/// \file N ranks compute what one rank computes: `baleen verify`, in fp64, over scripts, numbers of ranks and what a
/// step may hold. Every case is compared with a run of one rank within the tolerance that verify states.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string script;
  int ranks;
  std::vector<std::string> arguments;
};

void PrintTo(const Case& parity_case, std::ostream* out) {
  *out << parity_case.script << " on " << parity_case.ranks;
  for (const std::string& word : parity_case.arguments) *out << " " << word;
}

std::string manifest(int ranks) {
  const std::string count = std::to_string(ranks);
  return "[cluster]\nhosts = [{ name = \"localhost\", ranks = " + count + " }]\n[mesh]\ndata = " + count + "\n";
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.script + "_" + std::to_string(info.param.ranks);
  for (const std::string& word : info.param.arguments) name += "_" + word;
  std::string clean;
  for (char c : name) clean += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return clean;
}

class Parity : public ::testing::TestWithParam<Case> {};

TEST_P(Parity, RanksComputeWhatOneRankComputes) {
  const TemporaryFolder folder;
  std::vector<std::string> words{"verify", source_dir() + "/tests/parity/" + GetParam().script + ".lua", "--manifest",
                                 folder.write("ranks.toml", manifest(GetParam().ranks)), "--checked"};
  words.emplace_back("--");
  if (GetParam().script == "gpt") words.insert(words.end(), {"--data", source_dir() + "/tests/golden/whales.txt"});
  for (const std::string& word : GetParam().arguments) words.push_back("--" + word);
  ProcessOptions options;
  options.limit = std::chrono::minutes(4);
  const ProcessResult result = run_baleen(words, options);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("20 steps in fp64"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
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
  for (int ranks : {1, 2, 3, 4, 8}) {
    for (const auto& arguments : gpt) all.push_back({"gpt", ranks, arguments});
    all.push_back({"mlp", ranks, {}});
    all.push_back({"mlp", ranks, {"batch=26", "accumulate=2", "clip=0.1"}});
  }
  all.push_back({"gpt", 3, {"batch=10", "accumulate=2"}});  // 5 rows: 2, 2 and 1
  all.push_back({"gpt", 4, {"batch=5"}});                   // 2, 2, 1 and none
  all.push_back({"mlp", 8, {"batch=9", "clip=1"}});         // 2, 2, 2, 2, 1 and none
  return all;
}

INSTANTIATE_TEST_SUITE_P(Data, Parity, ::testing::ValuesIn(cases()), name_of);

/// The manifest that the README names.
TEST(Example, OfMixedStrategiesComputesWhatOneRankComputes) {
  for (const char* strategy : {"zero", "tensor"})
    if (!std::filesystem::exists(build_dir() + "/lib/baleen/plugins/baleen_strategy_" + std::string(strategy) + ".so"))
      GTEST_SKIP() << "no strategy `" << strategy << "` in this tree";
  const ProcessResult result = run_baleen({"verify", source_dir() + "/tests/parity/gpt.lua", "--manifest",
                                           source_dir() + "/examples/clusters/mixed.toml", "--checked", "--", "--data",
                                           source_dir() + "/tests/golden/whales.txt", "--heads=4"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
}

}  // namespace
}  // namespace baleen::test
