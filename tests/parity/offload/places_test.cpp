/// \file Several places outside the device, nearest first: what is moved most often lies in the nearest, within what a
/// rank may have there, and no bit changes.
#include <algorithm>

#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

const std::vector<std::string> kWide{"dim=48"};

std::int64_t bytes(const json& of, const char* what) { return of[what].get<std::int64_t>(); }

/// Parameters are got for each pass, states once: with room for the parameters in the nearest place they lie there.
TEST(OffloadPlaces, TheNearestHasWhatIsMovedMostOften) {
  const TemporaryFolder swap;
  for (const int ranks : {1, 2}) {
    const MeshAxes axes{{"data", ranks}};
    const std::string base = ranks == 1 ? std::string() : zero(1);
    const json one = planned_gpt(manifest_of(axes, base + offloaded_to("host", "", kParameters)), kWide)["classes"][0];
    const std::int64_t parameters = bytes(one["offload"], "bytes") * (ranks == 1 ? 1 : ranks) / (ranks == 1 ? 3 : 4);
    const double budget = 1.1 * static_cast<double>(parameters);
    const std::string manifest = manifest_of(axes, base + in_two_places(budget / kMiB, swap, kParameters));
    const json two = planned_gpt(manifest, kWide)["classes"][0];
    EXPECT_EQ(two["planned_bytes"]["total"], one["planned_bytes"]["total"]) << "on the device nothing changes";
    const json& places = two["offload"]["places"];
    ASSERT_EQ(places.size(), 2u) << two;
    const json &near = places[0], &far = places[1];
    EXPECT_EQ(near["member"], "host");
    EXPECT_EQ(far["member"], "nvme");
    for (const char* what : {"bytes", "put_bytes", "got_bytes"}) {
      EXPECT_EQ(bytes(near, what) + bytes(far, what), bytes(one["offload"], what)) << what;
      EXPECT_EQ(bytes(two["offload"], what), bytes(one["offload"], what)) << what;
    }
    EXPECT_LE(static_cast<double>(bytes(near, "bytes")), budget);
    EXPECT_GT(static_cast<double>(bytes(near, "bytes")), 0.7 * budget) << "small values take a block each";
    EXPECT_LT(5 * bytes(far, "got_bytes"), 6 * bytes(far, "bytes")) << "states, each got once";
    EXPECT_GT(bytes(near, "got_bytes"), 2 * bytes(near, "bytes")) << "parameters, got for each pass";
    for (const auto& account : account_of("gpt", manifest, ranks, kWide)) {
      EXPECT_EQ(account.at("planned_bytes.offloaded.host"), static_cast<double>(bytes(near, "bytes")));
      EXPECT_EQ(account.at("planned_bytes.offloaded.nvme"), static_cast<double>(bytes(far, "bytes")));
    }
  }
}

TEST(OffloadPlaces, ThePlanNamesEach) {
  const TemporaryFolder swap;
  const std::string manifest = manifest_of({{"data", 1}}, in_two_places(0.25, swap, kParameters));
  const ProcessResult text = run_parity({"plan", "--measure-offload", "0.1"}, "gpt", manifest, kWide);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* words : {"offloaded to `host`", "offloaded to `nvme`", "got from `host`", "put to `nvme`",
                            "moving takes at least ", "`host` got at ", "; `nvme` got at "})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << text.out;
  const ProcessResult measured = run_parity({"plan", "--measure-offload", "0.1", "--json"}, "gpt", manifest, kWide);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const json one = json::parse(measured.out)["classes"][0]["offload"];
  double least = 0;
  for (const json& place : one["places"])
    for (const auto& [moved, speed] :
         {std::pair{"got_bytes", "get_bytes_per_second"}, std::pair{"put_bytes", "put_bytes_per_second"}})
      least = std::max(least, place[moved].get<double>() / place[speed].get<double>());
  EXPECT_NEAR(one["least_seconds"].get<double>(), least, 1e-6 * least) << "places work side by side";
}

/// A place that gets nothing is not opened: its folder need not be there.
TEST(OffloadPlaces, ThoseThatGetNothingAreLeftAlone) {
  const std::string manifest =
      manifest_of({{"data", 1}}, plan_entry("offload") +
                                     "[[offload]]\nplugin = \"host\"\nbudget_mb = 1000\n"
                                     "[[offload]]\nplugin = \"nvme\"\npath = \"/nowhere/at/all\"\n");
  const ProcessResult run = run_parity({"run", "--steps", "1"}, "gpt", manifest, {});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST(OffloadPlaces, TwoOfOneMemberAreToldApart) {
  const TemporaryFolder one, two;
  const std::string manifest =
      manifest_of({{"data", 1}}, plan_entry("offload", "min_elements = 16\n") +
                                     "[[offload]]\nplugin = \"nvme\"\nbudget_mb = 0.1\n" + on_disk(one) +
                                     "[[offload]]\nplugin = \"nvme\"\n" + on_disk(two));
  const json places = planned_gpt(manifest, kWide)["classes"][0]["offload"]["places"];
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0]["member"], "nvme");
  EXPECT_EQ(places[1]["member"], "nvme.2");
  EXPECT_EQ(outcome_of(manifest, kWide, 3), outcome_of(manifest_of({{"data", 1}}, ""), kWide, 3));
}

class InTwoPlaces : public testing::TestWithParam<Mix> {};

TEST_P(InTwoPlaces, ChangesNoBit) {
  const Mix& mix = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(mix.axes, mix.plan)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder swap;
  const auto expected = outcome_of(manifest_of(mix.axes, mix.plan), mix.arguments, 5);
  ASSERT_EQ(expected.first.size(), 5u);
  const std::string manifest = manifest_of(mix.axes, mix.plan + in_two_places(0.05, swap, kEverything));
  EXPECT_EQ(planned_gpt(manifest, mix.arguments)["classes"][0]["offload"]["places"].size(), 2u);
  const auto got = outcome_of(manifest, mix.arguments, 5);
  EXPECT_EQ(got.first, expected.first);
  EXPECT_TRUE(got.second == expected.second) << "saved parameters differ";
}

INSTANTIATE_TEST_SUITE_P(All, InTwoPlaces,
                         testing::Values(Mix{"OneRank", {{"data", 1}}, "", {"clip=1.0", "accumulate=2"}},
                                         Mix{"Zero2", {{"data", 2}}, zero(2), {"accumulate=2"}},
                                         Mix{"Zero3", {{"data", 2}}, zero(3)},
                                         Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=4"}}),
                         [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
/// Disks' blocks pass through pinned memory, and so does then what lies in the host's.
INSTANTIATE_TEST_SUITE_P(OnTheEmulatedDevice, InTwoPlaces,
                         testing::Values(Mix{"OneRank", {{"data", 1}}, kEmulated, {"accumulate=2"}},
                                         Mix{"Zero3", {{"data", 2}}, kEmulated + zero(3)}),
                         [](const auto& one) { return one.param.name; });
#endif

}  // namespace
}  // namespace baleen::test
