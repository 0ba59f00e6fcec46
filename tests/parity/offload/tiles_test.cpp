/// \file Layers in tiles: the numbers of whole layers, the bits of the same tiles in the device wherever these lie, in
/// less memory.
#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

/// Matrices of 0.75 and 1 MiB and a vocabulary of 0.25, in tiles of an eighth.
const std::vector<std::string> kArguments{"layers=1", "dim=256", "heads=2", "batch=2", "context=8", "clip=1.0"};
const std::string kTiles = "tile_mb = 0.125\npiece_mb = 0.5\n";
/// Tiles, and all stays in the device.
const std::string kInside = plan_entry("offload", "fraction = 0\n" + kTiles);

std::vector<std::string> with_large(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kArguments.begin(), kArguments.end());
  return arguments;
}

class Tiles : public testing::TestWithParam<Mix> {};

TEST_P(Tiles, HaveTheirBitsWhereverTheyLie) {
  const Mix& mix = GetParam();
  if (const std::string missing = missing_strategy(manifest_of(mix.axes, mix.plan)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const std::vector<std::string> arguments = with_large(mix.arguments);
  const auto outcome = [&](const std::string& more) {
    return outcome_of(manifest_of(mix.axes, mix.plan + more), arguments, 4);
  };
  const auto expected = outcome(kInside);
  ASSERT_EQ(expected.first.size(), 4u);
  const TemporaryFolder swap;
  for (const std::string& store :
       {offloaded_to("host", "", kEverything + kTiles), offloaded_to("nvme", on_disk(swap), kEverything + kTiles)}) {
    const auto got = outcome(store);
    EXPECT_EQ(got.first, expected.first) << store;
    EXPECT_TRUE(got.second == expected.second) << "saved parameters differ: " << store;
  }
}

const MeshAxes kOne{{"data", 1}}, kTwo{{"data", 2}};

INSTANTIATE_TEST_SUITE_P(All, Tiles,
                         testing::Values(Mix{"OneRank", kOne, ""}, Mix{"Tied", kOne, "", {"tied"}},
                                         Mix{"MicroBatches", kOne, "", {"accumulate=2", "tied"}},
                                         Mix{"Data", kTwo, "", {"tied"}}, Mix{"Zero1", kTwo, zero(1)},
                                         Mix{"Zero3", kTwo, zero(3), {"tied", "accumulate=2"}},
                                         Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n"), {"tied"}},
                                         Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n")},

                                         Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=2"}},
                                         Mix{"Lamb", kOne, "", {"optimizer=lamb", "tied"}}),
                         [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
INSTANTIATE_TEST_SUITE_P(OnTheEmulatedDevice, Tiles, testing::Values(Mix{"Tied", kOne, kEmulated, {"tied"}}),
                         [](const auto& one) { return one.param.name; });
#endif

class TilesVerified : public testing::TestWithParam<Mix> {};

TEST_P(TilesVerified, ComputeWhatWholeLayersDo) {
  verify_parity("gpt", manifest_of(GetParam().axes, GetParam().plan + kInside), with_large(GetParam().arguments));
}

INSTANTIATE_TEST_SUITE_P(
    All, TilesVerified,
    testing::Values(Mix{"Tied", kOne, "", {"tied", "accumulate=2"}}, Mix{"Untied", kOne, ""},
                    Mix{"FewerKeys", kOne, "", {"tied", "kv_heads=1"}}, Mix{"Zero2", kTwo, zero(2), {"tied"}},
                    Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"tied", "accumulate=2"}}),
    [](const auto& one) { return one.param.name; });

/// A vocabulary that has far more bytes than all the rest: 8192 rows of 128.
class LargeVocabulary : public testing::Test {
 protected:
  static constexpr std::int64_t kMatrix = 8192 * 128 * 4;

  std::string script(const std::string& ids) const {
    return folder_.write("train.lua",
                         "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
                         "local table = nn.embedding { vocab = 8192, dim = 128 }\n"
                         "return baleen.job { loss = nn.cross_entropy {}, batch = 2, steps = 2, clip_grad_norm = 1.0,\n"
                         "  data = baleen.data.synthetic { rows = 8, held_out = 0,\n"
                         "    fields = { 'tokens i32 seq=8 < " +
                             ids +
                             "', 'targets i32 seq=8 < 8192' } },\n"
                             "  model = nn.sequential { table, nn.layer_norm {}, nn.tied(table) },\n"
                             "  optimizer = baleen.optimizer 'adamw' }\n");
  }
  std::string manifest(const std::string& options) const {
    return folder_.write("plan.toml", manifest_of(kOne, offloaded_to("host", "", kEverything + options)));
  }
  json planned(const std::string& options) const {
    const ProcessResult result = run_baleen({"plan", script("8192"), "--manifest", manifest(options), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out, nullptr, false)["classes"][0]["planned_bytes"];
  }

  const TemporaryFolder folder_;
};

TEST_F(LargeVocabulary, NeedNotBeInTheDeviceAsAWhole) {
  const json whole = planned("piece_mb = 0.5\n"), tiles = planned(kTiles);
  const auto arenas = [](const json& one) {
    return one["total"].get<std::int64_t>() - one["device"].get<std::int64_t>();
  };
  EXPECT_GT(arenas(whole), 2 * kMatrix) << "the matrix and its gradient";
  EXPECT_LT(arenas(tiles), kMatrix * 3 / 2) << "the gradient for its norm, and tiles";
  const std::string log = folder_ / "log.jsonl";
  const ProcessResult run = run_baleen({"run", script("8192"), "--manifest", manifest(kTiles), "--log-json", log});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto account = accounts_in(read_file(log), 1)[0];
  EXPECT_EQ(account.at("planned_bytes.total"), tiles["total"].get<double>());
  EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
}

TEST_F(LargeVocabulary, GivesTheNumbersOfTheWhole) {
  const std::string inside = folder_.write("inside.toml", manifest_of(kOne, kInside));
  expect_equal(run_baleen({"verify", script("8192"), "--manifest", inside, "--steps", "3"}), 3);
}

/// Many tiles make long sums, which no device could take at once.
TEST_F(LargeVocabulary, RunsInAnyNumberOfTiles) {
  const std::string many =
      folder_.write("many.toml", manifest_of(kOne, plan_entry("offload", "fraction = 0\ntile_mb = 0.03\n")));
  expect_equal(run_baleen({"verify", script("8192"), "--manifest", many, "--steps", "2"}), 2);
}

TEST_F(LargeVocabulary, IsRefusedInTilesWhereRanksCutIt) {
  const std::string cut = folder_.write("cut.toml", manifest_of({{"tensor", 2}}, plan_entry("tensor") + kInside));
  const ProcessResult run = run_parity({"run", "--steps", "1"}, "gpt", read_file(cut), kArguments);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("(slice): no way to run along the mesh axis `tensor`"), std::string::npos) << run.err;
}

TEST_F(LargeVocabulary, KnowsIdsThatItHasNot) {
  const ProcessResult run = run_baleen({"run", script("9000"), "--manifest", manifest(kTiles)});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_NE(run.err.find("is outside [0, "), std::string::npos) << run.err;
}

}  // namespace
}  // namespace baleen::test
