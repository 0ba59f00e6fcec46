/// \file What the strategy `recompute` cannot be asked for: each with file, line, the bad value and the fix, before any
/// work.
#include "parity/mixes/mix.hpp"
#include "support/case_lists.hpp"

namespace baleen::test {
namespace {

struct Bad {
  std::string name;
  std::string options;
  std::vector<std::string> says;
  std::string script = "gpt";
  int exit_code = 2;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadRecompute : public testing::TestWithParam<Bad> {};

TEST_P(BadRecompute, IsRefusedWithThePlaceAndTheFix) {
  for (const MeshAxes& mesh : {MeshAxes{{"data", 1}}, MeshAxes{{"data", 2}}}) {
    const std::string manifest = manifest_of(mesh, plan_entry("recompute", GetParam().options));
    for (const char* command : {"run", "plan"}) {
      const ProcessResult result = run_parity({command}, GetParam().script, manifest, {});
      EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.out << result.err;
      EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
      for (const std::string& words : GetParam().says)
        EXPECT_NE(result.err.find(words), std::string::npos) << words << ": " << result.err;
      EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
    }
  }
}

std::string mode(const char* name) { return mode_option(name); }

std::vector<Bad> modes() {
  return {
      {"NoMode", "", {"option `mode` is required"}},
      {"UnknownMode", mode("fulll"), {"ranks.toml:8:", "unknown choice `fulll`", "did you mean `full`?"}},
      {"UnknownOption", mode("full") + "intervall = 2\n", {"unknown option `intervall`; did you mean `interval`?"}},
      {"IntervalZero",
       mode("every") + "interval = 0\n",
       {"ranks.toml:9:", "option `interval` must be from 1 to", "not 0"}},
      {"IntervalOfMoreThanAllBlocks",
       mode("every") + "interval = 3\n",
       {"ranks.toml:7:12: strategy `recompute`, recompute: `interval` is 3, and the model has 2 blocks: none would run "
        "again; take at most as many"}},
  };
}

std::vector<Bad> options_of_another_mode() {
  return {
      {"IntervalOfAnotherMode",
       mode("full") + "interval = 3\n",
       {"`interval` is of mode = \"every\", and the mode is \"full\"; leave it out, or take another mode"}},
      {"OpsOfAnotherMode",
       mode("full") + "ops = \"norm\"\n",
       {"`ops` is of mode = \"selective\", and the mode is \"full\""}},
      {"CostOfAnotherMode",
       mode("auto") + "flops_per_byte = 3\n",
       {"`flops_per_byte` is of mode = \"selective\", and the mode is \"auto\""}},
      {"BudgetOfAnotherMode",
       mode("full") + "budget_mb = 3\n",
       {"`budget_mb` is of mode = \"auto\", and the mode is \"full\"; leave it out"}},
      {"BlocksOfAnotherMode",
       mode("selective") + "blocks = \"blocks.*\"\n",
       {"`blocks` is of mode = \"full\", \"every\" and \"auto\", and the mode is \"selective\""}},
  };
}

std::vector<Bad> layers_and_kinds() {
  return {
      {"BlocksOfNoLayer",
       mode("full") + "blocks = [\"blocks.*\", \"block.*\"]\n",
       {"ranks.toml:7:12: strategy `recompute`, recompute: `blocks` names `block.*`, and no layer is called so; take "
        "paths of layers, as `blocks`, `blocks.0`"}},
      {"OpsOfNoKind",
       mode("selective") + "ops = [\"norm\", \"atention\"]\n",
       {"`ops` names `atention`, and no op of the forward pass is of that kind or belongs to a layer of that path; the "
        "kinds are ",
        "`attention`, "}},
      {"ModelWithoutBlocks",
       mode("full"),
       {"mode = \"full\" is about blocks, and the model has none: make its layers with nn.repeated, or name them with "
        "the option `blocks`"},
       "mlp"},
  };
}

std::vector<Bad> budgets() {
  return {
      {"NoBudget",
       mode("auto"),
       {"mode = \"auto\" needs a budget: give `budget_mb`, or `activations_mb` in the manifest's"}},
      {"BudgetBelowZero", mode("auto") + "budget_mb = -1\n", {"option `budget_mb` must be from 0 to", "not -1"}},
      {"BudgetThatNothingMeets",
       mode("auto") + "budget_mb = 0.01\n",
       {"`budget_mb` is 0.01, and the forward and backward pass hold at least ",
        " where nothing does; give that much, "},
       "gpt",
       3},
  };
}

INSTANTIATE_TEST_SUITE_P(All, BadRecompute,
                         testing::ValuesIn(concatenated({modes(), options_of_another_mode(), layers_and_kinds(),
                                                         budgets()})),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
