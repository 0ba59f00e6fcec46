/// \file What offloaded states cannot be asked for: each with its place, the bad value and the fix, before any step.
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

struct Bad {
  std::string name;
  std::string plan;
  std::vector<std::string> says;
  bool planned = true;  ///< `plan` refuses it too
  int exit_code = 2;
  std::vector<std::string> arguments = {};
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadOffload : public testing::TestWithParam<Bad> {};

TEST_P(BadOffload, IsRefusedWithThePlaceAndTheFix) {
  const Bad& bad = GetParam();
  for (const std::string command : {"run", "plan"}) {
    if (command == "plan" && !bad.planned) continue;
    const ProcessResult result = run_parity({command}, "gpt", manifest_of({{"data", 1}}, bad.plan), bad.arguments);
    EXPECT_EQ(result.exit_code, bad.exit_code) << command << result.out << result.err;
    for (const std::string& words : bad.says)
      EXPECT_NE(result.err.find(words), std::string::npos) << words << ": " << result.err;
    EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOffload,
    testing::Values(
        Bad{"UnknownMember", offloaded_to("nowhere"), {"ranks.toml:", "unknown offload plugin `nowhere`", "`host`"}},
        Bad{"UnknownOption",
            offloaded_to("host", "thread = 2\n"),
            {"ranks.toml:", "unknown option `thread`", "did you mean `threads`?"}},
        Bad{"NoFolder", offloaded_to("nvme"), {"option `path` is required"}},
        Bad{"FolderThatIsNotThere",
            offloaded_to("nvme", "path = \"/nowhere/at/all\"\n"),
            {"offload `nvme`", "/nowhere/at/all"},
            false},
        Bad{"APatternWithoutStates",
            offloaded_to("host", "", "states = [\"tail.*\"]\n"),
            {"ranks.toml:", "strategy `offload`: `states`: \"tail.*\" matches no state"}},
        Bad{"APatternWithoutParameters",
            offloaded_to("host", "", "parameters = [\"tail.*\"]\n"),
            {"ranks.toml:", "strategy `offload`: `parameters`: \"tail.*\" matches no parameter; their names"}},
        Bad{"APatternWithoutGradients",
            offloaded_to("host", "", "gradients = [\"tail.*\"]\n"),
            {"strategy `offload`: `gradients`: \"tail.*\" matches no parameter that has a gradient"}},
        Bad{"APatternWithoutActivations",
            offloaded_to("host", "", "activations = [\"tail.*\"]\n"),
            {"strategy `offload`: `activations`: \"tail.*\" matches no value of the forward pass"}},
        Bad{"APatternOfStatesWhereThereAreNone",
            offloaded_to("host", "", "states = [\"tail.*\"]\n"),
            {"ranks.toml:",
             "`states`: \"tail.*\" matches no state that the update alone reads, of which the job has none"},
            true,
            2,
            {"optimizer=sgd"}},
        Bad{"APatternThatLacksItsEnd",
            offloaded_to("host", "", "activations = [\"blocks\"]\n"),
            {"ranks.toml:", "`activations`: \"blocks\" matches no value", "their names are like `blocks."}},
        Bad{"AnEmptyPattern",
            offloaded_to("host", "", "parameters = [\"\"]\n"),
            {"ranks.toml:", "option `parameters`: an empty string cannot stand in a list"}},
        Bad{"NothingThatLiesThere",
            offloaded_to("host", "", "states = []\n"),
            {"ranks.toml:", "`states` is empty and no other option names anything"}},
        Bad{"TilesOfAByte",
            offloaded_to("host", "", "tile_mb = 1e-9\n"),
            {"ranks.toml:", "`tile_mb` is less than a byte"}},
        Bad{"DelayWithoutBackwardPassesToHideIn",
            offloaded_to("host", "", "delay_update = true\n"),
            {"strategy `offload`, schedule: `delay_update` hides an update", "here are 2;",
             "`gradient_accumulation_steps = 1`"},
            true,
            2,
            {"accumulate=2"}},
        Bad{"AnUpdateByNobody",
            offloaded_to("host", "", "update = \"gpu\"\n"),
            {"ranks.toml:", "strategy `offload`: option `update`: unknown choice `gpu`; known: `device`, `host`"}},
        Bad{"AHostThatIsNotThere",
            offloaded_to("host", "", "update = \"host\"\n") + "[host_compute]\nplugin = \"nobody\"\n",
            {"ranks.toml:", "unknown compute plugin `nobody`", "`cpu`"}},
        Bad{"AnUnknownOptionOfTheHost",
            offloaded_to("host", "", "update = \"host\"\n") + "[host_compute]\nthread = 2\n",
            {"ranks.toml:", "compute `cpu`: unknown option `thread`", "did you mean `threads`?"}},
        Bad{"AFractionAboveOne", offloaded_to("host", "", "fraction = 1.5\n"), {"ranks.toml:", "`fraction`", "1.5"}},
        Bad{"NoneAhead",
            offloaded_to("host", "", "ahead = 0\n"),
            {"ranks.toml:", "`ahead` must be from 1 to 64, not 0"}},
        Bad{"ABudgetThatIsTooSmall",
            offloaded_to("host") + "[memory]\noffload_mb = 0.1\n",
            {"ranks.toml:", "keeps outside the device takes", "and the bound is 102.4 KiB", "What would help"},
            true,
            3},
        Bad{"ABudgetThatIsTooSmallForTheStoresBlocks",
            offloaded_to("nvme", "path = \"/tmp\"\n") + "[memory]\noffload_mb = 0.3\n",
            {"ranks.toml:", "in blocks of 4096 bytes, and the bound is 307.2 KiB"},
            true,
            3},
        Bad{"PlacesThatAreTooSmall",
            plan_entry("offload", "min_elements = 16\n") + "[[offload]]\nplugin = \"host\"\nbudget_mb = 0.05\n" +
                "[[offload]]\nplugin = \"nvme\"\nbudget_mb = 0.1\npath = \"/tmp\"\n",
            {"ranks.toml:", "what a rank keeps outside the device takes ",
             "there is room for 51.2 KiB in `host`, 102.4 KiB in `nvme`", "What would help: a greater `budget_mb`"},
            true,
            3},
        Bad{"APlaceThatLeavesNothingToTheNext",
            plan_entry("offload") + "[[offload]]\nplugin = \"host\"\n[[offload]]\nplugin = \"nvme\"\npath = \"/tmp\"\n",
            {"ranks.toml:", "[[offload]] of `host` needs `budget_mb`"}},
        Bad{"APlaceWithoutAMember",
            plan_entry("offload") + "[[offload]]\nbudget_mb = 5\n",
            {"ranks.toml:", "an [[offload]] entry needs a `plugin`"}},
        Bad{"AnUnknownOptionOfAPlace",
            plan_entry("offload") + "[[offload]]\nplugin = \"host\"\nbudget = 5\n",
            {"ranks.toml:", "unknown option `budget`"}},
        Bad{"ADeviceThatIsTooSmallWhateverGoes",
            offloaded_to("host", "", "as_needed = true\n") + "[memory]\ndevice_mb = 0.02\n",
            {"ranks.toml:", "a rank may have 20.5 KiB on its device"},
            true,
            3},
        Bad{"TheStrategyTwice",
            offloaded_to("host") + plan_entry("offload", "min_elements = 16\n"),
            {"cannot be offloaded: it is offloaded already; name it once"}}),
    [](const auto& one) { return one.param.name; });

TEST(Offload, WithoutTheSectionTheBestMemberKeepsTheStates) {
  const ProcessResult result = run_parity({"plan"}, "gpt", manifest_of({{"data", 1}}, plan_entry("offload")), {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("offloaded to `host`"), std::string::npos) << result.out;
}

TEST(Offload, ASectionThatNothingUsesIsTold) {
  const ProcessResult result =
      run_parity({"run", "--steps", "1"}, "gpt", manifest_of({{"data", 1}}, "[offload]\nplugin = \"host\"\n"), {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("[offload] is not used"), std::string::npos) << result.err;
}

TEST(Offload, AHostThatNothingUsesIsTold) {
  const ProcessResult result =
      run_parity({"run", "--steps", "1"}, "gpt", manifest_of({{"data", 1}}, "[host_compute]\nplugin = \"cpu\"\n"), {});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("[host_compute] is not used"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
