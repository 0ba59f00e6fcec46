/// \file Only as much lies outside the device as a rank lacks there: the plan chooses, and every rank the same.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

const std::string kAsNeeded = "min_elements = 16\nahead = 1\nas_needed = true\n";

/// To the byte.
std::string memory_of(double bytes) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.17g", bytes / kMiB);
  return std::string("[memory]\ndevice_mb = ") + text.data() + "\n";
}

/// Of the rank that needs most.
double most(const json& report, const char* kind) {
  double bytes = 0;
  for (const json& one : report["classes"])
    if (one["planned_bytes"].contains(kind)) bytes = std::max(bytes, one["planned_bytes"][kind].get<double>());
  return bytes;
}

class AsNeeded : public testing::TestWithParam<Mix> {
 protected:
  json planned(const std::string& more) const {
    return planned_gpt(manifest_of(GetParam().axes, GetParam().plan + more), GetParam().arguments);
  }
};

TEST_P(AsNeeded, FitsIntoAnyMemoryThatIsEnoughForAllOutsideWithTheSameBits) {
  const Mix& mix = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(mix.axes, mix.plan)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const json whole = planned(""), least = planned(offloaded_to("host", "", kEverything + mix.options));
  const double all = most(whole, "total"), none = most(least, "total");
  ASSERT_LT(none, all);
  const json roomy = planned(offloaded_to("host", "", kAsNeeded + mix.options));
  for (const char* what : {"planned_bytes", "flops", "sent_bytes", "working_bytes"})
    EXPECT_EQ(roomy["classes"][0][what], whole["classes"][0][what]) << "there is room for all, and nothing changes";
  const auto expected = outcome_of(manifest_of(mix.axes, mix.plan), mix.arguments, 3);
  for (const double share : {0.9, 0.5, 0.1, 0.0}) {
    const double have = std::ceil(none + share * (all - none));
    const std::string more = offloaded_to("host", "", kAsNeeded + mix.options) + memory_of(have);
    const json report = planned(more);
    EXPECT_LE(most(report, "total"), have);
    const double outside = most(report, "offloaded");
    EXPECT_GT(outside, 0);
    if (share > 0.4)
      EXPECT_LT(outside, 0.9 * most(least, "offloaded")) << share;
    else
      EXPECT_LE(outside, most(least, "offloaded"));
    const std::string manifest = manifest_of(mix.axes, mix.plan + more);
    const auto got = outcome_of(manifest, mix.arguments, 3);
    EXPECT_EQ(got.first, expected.first) << share;
    EXPECT_TRUE(got.second == expected.second) << "saved parameters differ: " << share;
    int ranks = 1;
    for (const auto& [axis, size] : mix.axes) ranks *= size;
    double total = 0;
    for (const auto& account : account_of("gpt", manifest, ranks, mix.arguments))
      total = std::max(total, account.at("planned_bytes.total"));
    EXPECT_EQ(total, most(report, "total")) << "the run plans what `plan` said";
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AsNeeded,
    testing::Values(Mix{"OneRank", {{"data", 1}}, "", {"dim=48", "clip=1.0"}, ""},
                    Mix{"UpdatesOnTheHost", {{"data", 1}}, "", {"dim=48", "clip=1.0"}, "update = \"host\"\n"},
                    Mix{"Zero1OnTheHost", {{"data", 2}}, zero(1), {"dim=48"}, "update = \"host\"\n"},
                    Mix{"Zero1", {{"data", 2}}, zero(1), {"dim=48", "accumulate=2"}, ""},
                    Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"dim=48", "accumulate=4"}, ""}),
    [](const auto& one) { return one.param.name; });

/// The states alone are named, and are not enough.
TEST(OffloadAsNeeded, MovesOnlyWhatIsNamed) {
  const std::vector<std::string> wide{"dim=48"};
  const MeshAxes one{{"data", 1}};
  const json whole = planned_gpt(manifest_of(one, ""), wide)["classes"][0]["planned_bytes"];
  const double states = whole["optimizer"], total = whole["total"];
  const std::string named = kAsNeeded + "states = [\"*\"]\n";
  const auto refused = [&](const std::string& options, double have) {
    return run_parity({"run", "--steps", "1"}, "gpt",
                      manifest_of(one, offloaded_to("host", "", options) + memory_of(have)), wide);
  };
  const double too_little = total - states - 0.05 * total;
  const ProcessResult result = refused(named, too_little);
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_NE(result.err.find(" on its device:"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
  EXPECT_EQ(refused(kAsNeeded, too_little).exit_code, 0);
}

}  // namespace
}  // namespace baleen::test
