/// \file Layouts that a script chooses by hand, alone and beside strategies: N ranks compute what one computes, and
/// what strategies choose by rule costs the same by hand.
#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

#include <sstream>

namespace baleen::test {
namespace {

struct Case {
  std::string name;
  MeshAxes mesh;
  std::string plan;  ///< strategies with their options: "zero stage=2, tensor"
  std::vector<std::string> arguments;
  std::string script = "annotated_gpt";
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

/// "zero stage=2, tensor" as [[plan]] entries. Options are numbers or words.
std::string entries(const std::string& plan) {
  std::string text;
  std::istringstream members(plan);
  for (std::string member; std::getline(members, member, ',');) {
    std::istringstream words(member);
    std::string word;
    words >> word;
    text += "[[plan]]\nstrategy = \"" + word + "\"\n";
    while (words >> word) {
      const auto at = word.find('=');
      const std::string value = word.substr(at + 1);
      const bool number = value.find_first_not_of("0123456789") == std::string::npos;
      text += word.substr(0, at) + " = " + (number ? value : "\"" + value + "\"") + "\n";
    }
  }
  return text;
}

class ByHand : public ::testing::TestWithParam<Case> {};

TEST_P(ByHand, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  verify_parity(c.script, manifest_of(c.mesh, entries(c.plan)), c.arguments);
}

std::vector<std::string> everything(const std::vector<std::string>& more) {
  std::vector<std::string> all{"tied", "accumulate=2", "clip=0.5", "dropout=0.2", "optimizer=lamb"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::vector<Case> cases() {
  const MeshAxes two{{"tensor", 2}}, both{{"data", 2}, {"tensor", 2}}, inside{{"tensor", 2}, {"data", 2}};
  const MeshAxes sequences{{"sequence", 2}, {"tensor", 2}};
  return {
      {"SmallNetwork", two, "", {}, "annotated"},
      {"Two", two, "", {}},
      {"TwoUneven", two, "", everything({"heads=5", "dim=25", "hidden=33"})},
      {"TwoGroupsOfHeads", two, "", everything({"kv_heads=2"})},
      {"Four", {{"tensor", 4}}, "", everything({"heads=4", "hidden=33"})},
      {"WholeMlp", two, "", everything({"whole=mlp"})},
      {"WholeMlpAgainstARule", two, "tensor", everything({"whole=mlp"})},
      {"BesidesARule", two, "tensor", everything({})},
      {"Tokens", two, "", everything({"tokens", "context=13"})},
      {"TokensOnFour", {{"tensor", 4}}, "", everything({"tokens", "context=13", "heads=4"})},
      {"Rows", {{"data", 2}}, "", everything({"rows", "batch=10"})},
      {"RowsAndHeads", both, "", everything({"rows", "batch=10"})},
      {"RowsTokensAndHeads", inside, "", everything({"rows", "tokens", "context=13"})},
      {"Data", both, "data", everything({"batch=10"})},
      {"Zero1", both, "zero stage=1", everything({"hidden=33"})},
      {"Zero2", both, "zero stage=2", everything({"tokens"})},
      {"Zero3", both, "zero stage=3", everything({"hidden=33", "whole=mlp"})},
      {"Zero3Inside", inside, "zero stage=3", everything({"heads=5", "dim=25"})},
      {"Zero2BesidesARule", both, "zero stage=2, tensor", everything({"whole=mlp"})},
      {"Zero3AlongRowsByHand", {{"data", 2}}, "zero stage=3", everything({"rows"})},
      {"TokensOfOneResult", two, "", {"hand=false", "cut=blocks.0.mlp@tensor@seq"}},
      {"RowsOfOneResult", two, "", {"hand=false", "cut=blocks@tensor@batch"}},
      {"WidthOfResults", two, "", {"hand=false", "cut=*mlp_norm@tensor@-1;blocks.1.attention.qkv@tensor@head_dim"}},
      {"OneOfTwoReadersIsSplit", two, "", {"hand=false", "cut=embedding.weight@tensor@vocab", "accumulate=2"}},
      {"TwoAxesCutTheVocabulary", both, "data, tensor", {"hand=false", "cut=head@data@vocab;head.weight@data@2"}},
      {"WeightsByTheWidth", both, "zero stage=3", {"hand=false", "cut=*.weight@tensor@1", "optimizer=lamb"}},
      {"Ulysses", sequences, "sequence", everything({"context=13"})},
      {"Ring", sequences, "sequence mode=ring", everything({"context=16"})},
      {"InnerDimensionThatOnlyTheOtherOperandNames", two, "", {"dim=1"}, "unnamed"},
      {"DimensionThatNobodyNames", two, "", {"dim=2"}, "unnamed"},
  };
}

INSTANTIATE_TEST_SUITE_P(Annotations, ByHand, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

/// Losses of the first steps and what each rank sent, from the log of a run in fp32.
struct Record {
  std::vector<double> losses;
  std::vector<std::map<std::string, double>> sent;
};

Record record_of(const MeshAxes& mesh, const std::string& plan, int ranks, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  const ProcessResult result = run_parity({"run", "--steps", "3", "--log-json", path}, "annotated_gpt",
                                          manifest_of(mesh, entries(plan)), arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::string log = read_file(path);
  Record record{steps_in(log, "loss"), accounts_in(log, ranks)};
  for (auto& account : record.sent)
    std::erase_if(account, [](const auto& fact) { return !fact.first.starts_with("sent_bytes."); });
  return record;
}

/// Without any strategy: the same collectives as the rules of `tensor` give, and the same bits.
TEST(Annotations, CostWhatTheRuleCosts) {
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  for (const auto& [ranks, heads] : {std::pair{2, "heads=6"}, std::pair{4, "heads=4"}})
    for (const char* more : {"accumulate=1", "tied"}) {
      const Record by_hand = record_of({{"tensor", ranks}}, "", ranks, {heads, more, "dropout=0.2"});
      const Record by_rule =
          record_of({{"tensor", ranks}}, "tensor", ranks, {heads, more, "dropout=0.2", "hand=false"});
      EXPECT_EQ(by_hand.losses.size(), 3u);
      EXPECT_EQ(by_hand.losses, by_rule.losses);
      EXPECT_FALSE(by_hand.sent.at(0).empty());
      EXPECT_EQ(by_hand.sent, by_rule.sent) << heads << " " << more;
    }
}

TEST(Annotations, TheExampleComputesWhatOneRankComputes) {
  expect_equal(run_baleen({"verify", source_dir() + "/examples/03_by_hand/train.lua", "--manifest",
                           source_dir() + "/examples/clusters/by_hand.toml", "--steps", "2", "--", "--data",
                           source_dir() + "/sdk/include"}),
               2);
}

/// What a run writes beside the monitor's lines, which begin with two blanks or one of its words.
std::string text_of(const std::string& out) {
  std::string text;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  ") && !line.starts_with("step ") && !line.starts_with("finished")) text += line + "\n";
  return text;
}

/// Generation gathers what is stored in parts.
TEST(Annotations, TheTrainedModelWritesWhatOneRankWrites) {
  std::vector<std::string> written;
  for (int ranks : {1, 2}) {
    const ProcessResult result = run_parity({"run", "--steps", "2", "--dtype", "fp64"}, "annotated_gpt",
                                            manifest_of({{"tensor", ranks}}, ""), {"write"});
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    written.push_back(text_of(result.out));
  }
  EXPECT_TRUE(written[0].starts_with("a")) << written[0];
  EXPECT_GE(written[0].size(), 6u) << written[0];
  EXPECT_EQ(written[0], written[1]);
}

TEST(Annotations, ARankHoldsItsPart) {
  const auto cut = account_of("annotated", manifest_of({{"tensor", 2}}, ""), 2, {});
  EXPECT_GT(cut[0].at("planned_bytes.parameters"), cut[1].at("planned_bytes.parameters"));  // 17 is 9 and 8
}

}  // namespace
}  // namespace baleen::test
