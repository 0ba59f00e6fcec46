/// \file Every manifest of examples/clusters is read and planned with the script that its first lines name.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

std::vector<std::string> manifests() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/examples/clusters"))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// Ranks by the words of the file alone: the sum over its hosts.
std::int64_t ranks_written(const std::string& text) {
  std::int64_t ranks = 0;
  const std::regex each("\\branks = (\\d+)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), each); it != std::sregex_iterator(); ++it)
    ranks += std::stoll((*it)[1]);
  return ranks;
}

class Clusters : public testing::TestWithParam<std::string> {};

TEST_P(Clusters, ArePlanned) {
  const std::string path = source_dir() + "/examples/clusters/" + GetParam() + ".toml", text = read_file(path);
  std::smatch named;
  const bool names_script = std::regex_search(text, named, std::regex("examples/\\w+/train\\.lua"));
  const std::string script = names_script ? named[0].str() : "examples/02_gpt/train.lua";
  std::vector<std::string> words{"plan", source_dir() + "/" + script, "--manifest", path, "--json"};
  if (script.find("01_hello") == std::string::npos)
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
  const ProcessResult result = run_baleen(words);
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  const auto plan = nlohmann::json::parse(result.out);
  std::int64_t ranks = 0, axes = 1;
  for (const auto& each : plan.at("classes")) ranks += each.at("count").get<std::int64_t>();
  for (const auto& axis : plan.at("mesh")) axes *= axis.at("size").get<std::int64_t>();
  EXPECT_EQ(ranks, ranks_written(text)) << result.out;
  EXPECT_EQ(axes, ranks) << result.out;
}

/// The command in its first lines is of this file and of a script that is there.
TEST_P(Clusters, SayHowToTryThem) {
  const std::string text = read_file(source_dir() + "/examples/clusters/" + GetParam() + ".toml");
  ASSERT_TRUE(text.starts_with("# ")) << text;
  const std::regex command("baleen \\w+ (\\S+) --manifest (\\S+)");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), command); it != std::sregex_iterator(); ++it) {
    EXPECT_TRUE(std::filesystem::exists(source_dir() + "/" + (*it)[1].str())) << (*it)[0];
    EXPECT_EQ((*it)[2], "examples/clusters/" + GetParam() + ".toml") << (*it)[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Clusters, testing::ValuesIn(manifests()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace baleen::test
