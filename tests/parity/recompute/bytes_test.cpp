/// \file What the modes of `recompute` keep per layer, by formula; and that a run holds what its plan says.
///
/// The table of tests/parity/plan/activation_table_test.cpp has what a layer keeps otherwise. In elements, for b rows,
/// s tokens and width h: `full` keeps the layer's input, bsh (Korthikanti et al., arXiv 2205.05198, table 2: 2sbh bytes
/// of 16 bits); `selective` x twice, q, k, v, and what gelu reads, 9 bsh: norms, attention and gelu run again.
#include "parity/recompute/recompute_run.hpp"

namespace baleen::test {
namespace {

/// So many tokens to a width that the peak stands at the beginning of the backward pass.
constexpr double kBatch = 8, kSequence = 64, kWidth = 32, kBytes = 4;

struct Kept {
  std::string name;
  Mix mix;
  std::string mode;
  double share;  ///< of bsh, per layer and rank
};

void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.name; }

class KeptPerLayer : public ::testing::TestWithParam<Kept> {
 protected:
  std::string manifest() const { return manifest_for(GetParam().mix) + recompute_entry(GetParam().mode); }
  static std::vector<std::string> arguments(int layers) {
    return {"batch=8", "context=64", "dim=32", "heads=8", "layers=" + std::to_string(layers)};
  }
};

TEST_P(KeptPerLayer, IsTheFormula) {
  if (const std::string missing = missing_strategy(manifest()); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const double each = GetParam().share * kBatch * kSequence * kWidth * kBytes;
  std::vector<double> held;
  for (const int layers : {4, 8}) {
    const ProcessResult result = run_parity({"plan", "--json"}, "gpt", manifest(), arguments(layers));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    held.push_back(most_of(nlohmann::json::parse(result.out).at("classes"), "working_value_bytes"));
  }
  EXPECT_EQ(held[1] - held[0], 4 * each);
}

INSTANTIATE_TEST_SUITE_P(
    Recompute, KeptPerLayer,
    ::testing::Values(Kept{"FullOnOne", {}, "full", 1}, Kept{"FullOfData", {.data = 2}, "full", 0.5},
                      Kept{"FullOfTensor", {.tensor = 2, .products = "1d"}, "full", 1},
                      Kept{"FullOfMegatron", {.tensor = 2, .products = "1d", .megatron = true}, "full", 0.5},
                      Kept{"SelectiveOnOne", {}, "selective", 9},
                      Kept{"SelectiveOfData", {.data = 2}, "selective", 4.5}),
    [](const auto& info) { return info.param.name; });

/// Blocks that run again read what a stage received in the forward pass.
TEST(RecomputeBeside, APipelineHasNothingSentAgain) {
  if (!has_plugin("strategy", "pipeline")) GTEST_SKIP() << "no strategy `pipeline` in this tree";
  for (const std::string schedule : {"1f1b", "zero_bubble_v"}) {
    const auto sent = [&](const std::string& mode) {
      const std::string plan = plan_entry("pipeline", "schedule = \"" + schedule + "\"\n") + recompute_entry(mode);
      nlohmann::json by_rank;
      for (const auto& one : planned_classes(manifest_of({{"pipeline", 2}}, plan), {"batch=8", "accumulate=4"}))
        by_rank.push_back(one.at("sent_bytes"));
      return by_rank;
    };
    EXPECT_EQ(sent("").size(), 2u) << schedule;
    EXPECT_EQ(sent("full"), sent("")) << schedule;
  }
}

/// Every second layer keeps 16 bsh and statistics, the others their inputs alone.
TEST(KeptPerLayerOfEvery, IsHalfOfEach) {
  const auto held = [](const std::string& entry, int layers) {
    const ProcessResult result =
        run_parity({"plan", "--json"}, "gpt", entry,
                   {"batch=8", "context=64", "dim=32", "heads=8", "layers=" + std::to_string(layers)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return most_of(nlohmann::json::parse(result.out).at("classes"), "working_value_bytes");
  };
  const auto per_layer = [&](const std::string& entry) { return (held(entry, 8) - held(entry, 4)) / 4; };
  EXPECT_EQ(2 * per_layer(recompute_entry("every")), per_layer("") + per_layer(recompute_entry("full")));
  EXPECT_EQ(3 * per_layer(recompute_entry("every", "interval = 1\n")), 3 * per_layer(recompute_entry("full")));
}

class HeldInARun : public ::testing::TestWithParam<Mix> {};

/// Byte by byte, all that a plan and a run count alike.
TEST_P(HeldInARun, IsWhatThePlanSays) {
  for (const std::string mode : {"", "full", "selective"}) {
    const std::string manifest = manifest_for(GetParam()) + recompute_entry(mode);
    if (const std::string missing = missing_strategy(manifest); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
    const ProcessResult result = run_parity({"plan", "--json"}, "gpt", manifest, {});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto planned = nlohmann::json::parse(result.out).at("classes").at(0);
    const auto ran = account_of("gpt", manifest, GetParam().ranks(), {}).at(0);
    for (const char* key : {"working_bytes", "working_value_bytes"})
      EXPECT_EQ(ran.at(key), planned.at(key).get<double>()) << mode << key;
    EXPECT_EQ(ran.at("planned_bytes.activations"), planned.at("planned_bytes").at("activations").get<double>()) << mode;
    EXPECT_EQ(ran.at("allocated_bytes"), ran.at("planned_bytes.total") - ran.at("planned_bytes.device")) << mode;
  }
}

INSTANTIATE_TEST_SUITE_P(Recompute, HeldInARun,
                         ::testing::Values(Mix{}, Mix{.data = 2}, Mix{.data = 2, .stage = 3},
                                           Mix{.tensor = 2, .products = "1d"}));

}  // namespace
}  // namespace baleen::test
