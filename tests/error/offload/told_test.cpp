/// \file What `plan` tells of values outside the device is what lies there, and what it proposes says what it changes.
#include <algorithm>
#include <sstream>

#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

const MeshAxes kStages{{"pipeline", 2}};
const std::vector<std::string> kDeep{"layers=8", "accumulate=4"};

std::string noted(const json& plan, const std::string& words) {
  for (const json& note : plan["notes"])
    if (const std::string text = note; text.find(words) != std::string::npos) return text;
  return "";
}

std::string staged(const std::string& options) {
  return manifest_of(kStages, plan_entry("pipeline") + offloaded_to("host", "", "min_elements = 16\n" + options));
}

TEST(OffloadNotes, AreOfTheRankOfAPipelineThatHasMost) {
  const json plan = planned_gpt(staged("fraction = 0.5\n"), kDeep);
  std::uint64_t most = 0;
  ASSERT_EQ(plan["classes"].size(), 2u);
  for (const json& one : plan["classes"]) {
    const std::uint64_t outside = one["offload"]["bytes"], inside = one["planned_bytes"]["optimizer"];
    most = std::max(most, outside);
    EXPECT_NEAR(static_cast<double>(outside) / static_cast<double>(outside + inside), 0.5, 0.1) << one;
  }
  EXPECT_NE(noted(plan, " states, " + std::to_string(most) + " bytes of a rank, lie outside"), "") << plan["notes"];
}

TEST(OffloadNotes, SayThatActivationsOfAPipelineStay) {
  const json plan = planned_gpt(staged("activations = [\"*\"]\n"), kDeep);
  EXPECT_NE(noted(plan, "activations stay in the device: in a pipeline several micro-batches"), "") << plan["notes"];
  EXPECT_EQ(noted(plan, "activations lie outside"), "") << plan["notes"];
}

TEST(OffloadNotes, SayHowFarApartUsesAre) {
  const json plan = planned_gpt(
      manifest_of(kOne, offloaded_to("host", "", "min_elements = 16\nactivations = [\"*\"]\nahead = 64\n")), {});
  EXPECT_NE(noted(plan, "wherever more than 64 uses lie between two of theirs"), "") << plan["notes"];
}

TEST(OffloadNames, MayBeThoseOfAnyProgram) {
  const ProcessResult plan =
      run_parity({"plan"}, "programs/adversarial",
                 manifest_of(kOne, offloaded_to("host", "", "min_elements = 2\nstates = [\"judge*\"]\n")), {});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_NE(plan.out.find("lie outside the device"), std::string::npos) << plan.out;
}

TEST(OffloadBudgets, OfVerifyAreThoseOfNumbersOfTwiceTheBytes) {
  const std::string manifest =
      manifest_of(kOne, offloaded_to("host", "", kEverything) + "[memory]\noffload_mb = 1.2\n");
  EXPECT_EQ(run_parity({"plan"}, "gpt", manifest, {}).exit_code, 0);
  const ProcessResult exact = run_parity({"verify"}, "gpt", manifest, {});
  EXPECT_EQ(exact.exit_code, 3) << exact.out << exact.err;
  EXPECT_NE(exact.err.find("`verify` computes in fp64, with twice the bytes of fp32: take `--dtype fp32`"),
            std::string::npos)
      << exact.err;
  EXPECT_EQ(exact.err.find("`baleen plan`"), std::string::npos) << exact.err;
}

TEST(OffloadAdvice, SaysWhatItMovesAndWhatChangesNumbersComesLast) {
  const ProcessResult plan = run_parity(
      {"plan", "--json"}, "gpt",
      manifest_of(kOne, offloaded_to("nvme", "path = \"/tmp\"\n") + "[memory]\ndevice_mb = 5.25\n"), {"dim=48"});
  ASSERT_EQ(plan.exit_code, 3) << plan.out << plan.err;
  const json tried = json::parse(plan.out, nullptr, false)["advice"]["tried"];
  bool is_other = false, moves = false;
  for (const json& one : tried) {
    const std::string changes = one["changes"].dump(), numbers = one["other_numbers"];
    if (!one["fits"]) break;
    EXPECT_TRUE(!is_other || !numbers.empty()) << changes << " stands behind what has other numbers";
    is_other = !numbers.empty();
    moves = moves || one["moved_bytes"] > 0;
    EXPECT_EQ(changes.find("delay_update") != std::string::npos,
              numbers.find("the update of the step before") != std::string::npos)
        << one;
  }
  EXPECT_TRUE(is_other && moves) << tried;
}

TEST(OffloadComparison, HasBytesOutside) {
  const TemporaryFolder folder;
  const ProcessResult plans =
      run_baleen({"plan", source_dir() + "/tests/parity/gpt.lua", folder.write("inside.toml", manifest_of(kOne, "")),
                  folder.write("outside.toml", manifest_of(kOne, offloaded_to("host"))), "--", "--data",
                  source_dir() + "/tests/golden/whales.txt"});
  EXPECT_EQ(plans.exit_code, 0) << plans.err;
  for (const std::string words : {"outside the device ", "  got per step ", "  put per step "}) {
    const auto at = plans.out.find("\n" + words);
    ASSERT_NE(at, std::string::npos) << words << plans.out;
    EXPECT_NE(plans.out.substr(at, plans.out.find('\n', at + 1) - at).find("KiB"), std::string::npos) << plans.out;
  }
}

}  // namespace
}  // namespace baleen::test
