/// \file ZeRO-3 through the strategy interface computes what one rank computes, and saves whole parameters.
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

constexpr const char* kPlugins = BALEEN_BUILD_DIR "/tests/spike";

std::string manifest(int ranks) {
  const std::string count = std::to_string(ranks);
  return "[cluster]\nhosts = [{ name = \"localhost\", ranks = " + count + " }]\n[mesh]\ndata = " + count +
         "\n[[plan]]\nstrategy = \"zero_spike\"\n";
}

ProcessResult run(std::vector<std::string> words, const std::string& script,
                  const std::vector<std::string>& arguments) {
  words.insert(words.begin() + 1, BALEEN_SOURCE_DIR "/tests/parity/" + script + ".lua");
  words.insert(words.end(), {"--plugin-path", kPlugins, "--"});
  if (script == "gpt") words.insert(words.end(), {"--data", BALEEN_SOURCE_DIR "/tests/golden/whales.txt"});
  for (const std::string& word : arguments) words.push_back("--" + word);
  ProcessOptions options;
  options.limit = std::chrono::minutes(4);
  return run_baleen(words, options);
}

struct Case {
  std::string script;
  int ranks;
  std::vector<std::string> arguments;
};

class Zero : public ::testing::TestWithParam<Case> {};

TEST_P(Zero, RanksComputeWhatOneRankComputes) {
  const TemporaryFolder folder;
  const auto& [script, ranks, arguments] = GetParam();
  const ProcessResult result =
      run({"verify", "--manifest", folder.write("ranks.toml", manifest(ranks)), "--checked"}, script, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Spike, Zero,
                         ::testing::Values(Case{"gpt", 2, {}}, Case{"gpt", 4, {"clip=0.5", "accumulate=2"}},
                                           Case{"gpt", 2, {"optimizer=lamb", "clip=1", "dropout=0.2"}},
                                           Case{"gpt", 3, {"batch=9", "optimizer=lamb"}}, Case{"mlp", 2, {}},
                                           Case{"mlp", 4, {"clip=0.1", "batch=16", "accumulate=2"}}));

}  // namespace
}  // namespace baleen::test
