/// \file Strategies that cannot stand in one plan: both are named, with the axis or the value, before the first step.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "parity/parity_run.hpp"
#include "support/case_lists.hpp"

namespace baleen::test {
namespace {

std::string entry(const std::string& strategy, const std::string& options = {}) {
  return "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
}

std::string wishes(const std::string& verb, int dim) {
  return entry("wishes", "verb = \"" + verb + "\"\ndim = " + std::to_string(dim) + "\n");
}

ProcessResult run(const MeshAxes& axes, const std::string& plan) {
  return run_parity({"run", "--steps", "1", "--plugin-path", WISHES_FOLDER}, "gpt", manifest_of(axes, plan), {});
}

struct Pair {
  std::string name;
  MeshAxes mesh;
  std::string plan;
  std::vector<std::string> says;
};

void PrintTo(const Pair& pair, std::ostream* out) { *out << pair.name; }

/// Whether this tree has the strategies of the plan: their folders may be taken away.
bool has_strategies(const std::string& plan) {
  for (const std::string name : {"data", "zero", "tensor", "sequence"})
    if (plan.find("strategy = \"" + name + "\"") != std::string::npos && !has_plugin("strategy", name)) return false;
  return true;
}

class StrategiesApart : public ::testing::TestWithParam<Pair> {};

TEST_P(StrategiesApart, AreBothNamed) {
  const Pair& pair = GetParam();
  const ProcessResult result = run(pair.mesh, pair.plan);
  EXPECT_EQ(result.exit_code, 2) << pair.plan << result.out << result.err;
  for (const std::string& words : pair.says) EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
}

const MeshAxes kData{{"data", 2}}, kBoth{{"data", 2}, {"tensor", 2}};
const std::string kZero = entry("zero", "stage = 3\n");

std::vector<Pair> claims_of_one_axis() {
  return {
      {"OneAxisTwice",
       kData,
       entry("data") + kZero,
       {"ranks.toml:9:12: strategies `data` and `zero` both claim the mesh axis `data`", "leave one of the two out"}},
      {"OneAxisTwiceTheOtherWay",
       kData,
       kZero + entry("data"),
       {"strategies `zero` and `data` both claim the mesh axis `data`"}},
      {"OneAxisTwiceByOneStrategy",
       kData,
       entry("data") + entry("data"),
       {"strategies `data` and `data` both claim the mesh axis `data`"}},
      {"DataAlongTheAxisOfTensor",
       kBoth,
       entry("data") + entry("tensor") + entry("data", "axis = \"tensor\"\n"),
       {"strategies `tensor` and `data` both claim the mesh axis `tensor`"}},
      {"OneAxisOfAGrid",
       {{"tensor", 4}},
       entry("tensor", "mode = \"2d\"\n") + entry("data", "axis = \"tensor.col\"\n"),
       {"strategies `tensor` and `data` both claim the mesh axis `tensor.col`"}},
      {"OneGridTwice",
       {{"tensor", 4}},
       entry("tensor", "mode = \"2d\"\n") + entry("tensor", "mode = \"2d\"\n"),
       {"strategies `tensor` and `tensor` both claim the mesh axis `tensor.row`"}},
  };
}

std::vector<Pair> wishes_for_one_thing() {
  return {
      {"ShardsAlongAnAxisThatCutsParameters",
       kBoth,
       entry("tensor") + entry("zero", "stage = 3\nalso = \"tensor\"\n"),
       {"strategy `zero`, place: `", "is to be used cut along dimension ",
        " along `tensor` for strategy `tensor`, and whole for strategy "
        "`zero`"}},
      {"Used",
       kData,
       entry("data") + wishes("use", 0) + wishes("use", -1),
       {"is to be used cut along dimension 1 along `data` for strategy `wishes`, and whole for strategy `wishes`"}},
      {"Stored",
       kData,
       wishes("store", -1) + kZero,
       {"is to be stored whole along `data` for strategy `wishes`, and cut into even runs of its elements for strategy "
        "`zero`"}},
      {"Pinned",
       kData,
       kZero + wishes("pin", 0),
       {"is to be pinned cut into even runs of its elements along `data` for strategy `zero`, and cut along dimension "
        "1 for"}},
      {"OnlyFormsOfOneOp",
       {{"sequence", 2}},
       entry("sequence", "mode = \"ring\"\n") + wishes("only", -1),
       {"ranks.toml:10:12: strategy `wishes`, place: `blocks.0.attention` (attention) is to run along `sequence` in no "
        "form but that of strategy `sequence`, and in no form but that of strategy `wishes`",
        "leave one of the two out of the plan"}},
      {"OnlyFormsOfOneOpByOneMember",
       kData,
       entry("data") + wishes("only", -1) + wishes("only", -1),
       {"in no form but that of strategy `wishes`, and in no form but that of strategy `wishes`"}},
  };
}

std::vector<Pair> pairs() {
  std::vector<Pair> here = concatenated({claims_of_one_axis(), wishes_for_one_thing()});
  std::erase_if(here, [](const Pair& pair) { return !has_strategies(pair.plan); });
  return here;
}

INSTANTIATE_TEST_SUITE_P(All, StrategiesApart, ::testing::ValuesIn(pairs()),
                         [](const auto& info) { return info.param.name; });

/// The same wish from two is one wish, and one rank may ask for anything.
TEST(StrategiesAlike, Agree) {
  const std::string contrary = wishes("use", 0) + wishes("use", -1);
  for (const auto& [ranks, plan] : {std::pair{2, wishes("store", 0) + wishes("store", 0)}, std::pair{1, contrary}}) {
    const ProcessResult result = run({{"data", ranks}}, entry("data") + plan);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  }
  const ProcessResult offered = run({{"data", 2}}, entry("data") + wishes("only", -1) + wishes("offer", -1));
  EXPECT_EQ(offered.exit_code, 0) << offered.out << offered.err;
  const ProcessResult one = run({{"data", 1}}, entry("data") + entry("data"));
  EXPECT_EQ(one.exit_code, 0) << one.out << one.err;
}

/// Not two ops later, where the optimizer would be blamed.
TEST(Strategies, AssignNoParameter) {
  if (!has_plugin("strategy", "data")) GTEST_SKIP() << "no strategy `data` in this tree";
  for (const auto& [verb, phase] : {std::pair{"rewrite", "rewrite"}, std::pair{"learn", "gradients"}}) {
    const ProcessResult result = run({{"data", 2}}, entry("data") + wishes(verb, -1));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    const std::string said = "ranks.toml:9:12: strategy `wishes`, " + std::string(phase) + ": `embedding.weight` is a ";
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("which the optimizer's update assigns"), std::string::npos) << result.err;
  }
}

TEST(Strategies, ThatSayNonsenseOfCostsAreNamed) {
  const ProcessResult negative = run({{"data", 2}}, entry("data") + wishes("expect", -1));
  EXPECT_EQ(negative.exit_code, 2) << negative.out << negative.err;
  EXPECT_NE(negative.err.find("strategy `wishes`, place: closed form of kind 0, -1"), std::string::npos)
      << negative.err;
  const ProcessResult two = run({{"data", 2}}, entry("data") + wishes("expect", 0));
  EXPECT_NE(two.err.find("is of one axis, and this one of 2"), std::string::npos) << two.err;
}

TEST(Strategies, InCNeedNoPhase) {
  const ProcessResult result = run({{"data", 2}}, entry("data") + entry("nothing_c"));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

/// `claims` returns no status; what it throws is told all the same.
TEST(Strategies, ThatThrowInClaimsAreNamed) {
  const ProcessResult result = run({{"data", 2}}, entry("data") + entry("claims_throws"));
  EXPECT_EQ(result.exit_code, 70) << result.out << result.err;
  EXPECT_NE(result.err.find("strategy `claims_throws`: nobody knows the axis"), std::string::npos) << result.err;
}

/// On however many ranks, with the place of the job.
TEST(Batches, ThatDoNotDivideAreRefused) {
  const std::string said =
      ": input `tokens`: a batch of 9 does not divide into 2 micro-batches; take a batch of 10, or";
  const std::vector<std::pair<MeshAxes, std::string>> clusters{
      {{{"data", 1}}, ""}, {{{"sequence", 2}}, entry("sequence", "mode = \"ring\"\n")}};
  for (const auto& [axes, plan] : clusters) {
    const ProcessResult result =
        run_parity({"run", "--steps", "1"}, "gpt", manifest_of(axes, plan), {"batch=9", "accumulate=2"});
    EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
    EXPECT_TRUE(std::regex_search(result.err, std::regex("gpt\\.lua:[0-9]+" + said))) << result.err;
  }
}

}  // namespace
}  // namespace baleen::test
