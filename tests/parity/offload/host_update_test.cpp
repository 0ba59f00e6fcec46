/// \file Updates that run where states lie (`update = "host"`): the bits, the bytes that cross the bus, and what a step
/// that does not count leaves.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

const std::string kOnHost = "update = \"host\"\n", kStatesOnHost = "min_elements = 16\n" + kOnHost;
const std::string kDescribed = "[compute]\nplugin = \"cuda\"\narchitecture = \"9.0\"\nmemory = 8000\n";
const MeshAxes kFour{{"data", 4}};

json host_updates_of(const std::string& manifest, const std::vector<std::string>& arguments) {
  const json one = planned_gpt(manifest, arguments)["classes"][0];
  return one.contains("host_updates") ? one["host_updates"] : json{{"updates", 0}};
}

class HostUpdates : public testing::TestWithParam<Mix> {};

/// Beside the same plan without the host's cores. That one has the bits of nothing outside (bits_test).
TEST_P(HostUpdates, ChangeNoBit) {
  const Mix& mix = GetParam();
  const std::string with = mix.plan + plan_entry("offload");
  if (const std::string missing = missing_strategy(manifest_of(mix.axes, with)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const auto outcome = [&](const std::string& plan) {
    return outcome_of(manifest_of(mix.axes, plan), mix.arguments, 6);
  };
  // A late update, and a sum in tiles, have other numbers than the script alone.
  const bool is_other =
      mix.options.find("delay_update") != std::string::npos || mix.options.find("tile_mb") != std::string::npos;
  const auto expected = outcome(is_other ? mix.plan + offloaded_to("host", "", mix.options) : mix.plan);
  const std::string on_host = mix.plan + offloaded_to("host", "", mix.options + kOnHost);
  const auto got = outcome(on_host);
  ASSERT_EQ(expected.first.size(), 6u);
  EXPECT_EQ(got.first, expected.first);
  EXPECT_TRUE(got.second == expected.second) << "saved parameters differ";
  EXPECT_GT(host_updates_of(manifest_of(mix.axes, on_host), mix.arguments)["updates"], 0);
}

const std::string kInPieces = "piece_mb = 0.5\n", kDelayed = "delay_update = true\n";
const std::string kFp16 = plan_entry("precision", "dtype = \"fp16\"\ninitial_scale = 1e8\n");

INSTANTIATE_TEST_SUITE_P(
    Everywhere, HostUpdates,
    testing::Values(
        Mix{"OneRank", kOne, "", {"clip=1.0"}}, Mix{"Sgd", kOne, "", {"optimizer=sgd"}, kParameters},
        Mix{"Parameters", kOne, "", {"accumulate=2", "clip=1.0"}, kParameters},
        Mix{"Everything", kOne, "", {"accumulate=2", "clip=1.0"}, kEverything},
        Mix{"Tied", kTwo, "", {"tied", "clip=1.0"}, kParameters}, Mix{"Data", kTwo, "", {"clip=1.0"}, kEverything},
        Mix{"Zero1", kTwo, zero(1), {"clip=1.0"}}, Mix{"Zero1Everything", kTwo, zero(1), {"accumulate=2"}, kEverything},
        Mix{"Zero2", kTwo, zero(2), {"accumulate=2"}}, Mix{"Zero3", kTwo, zero(3), {"clip=1.0"}},
        Mix{"Zero3Everything", kTwo, zero(3), {"accumulate=2", "clip=1.0"}, kEverything},
        Mix{"Zero1OfFour", kFour, zero(1), {"clip=1.0"}}, Mix{"Zero3OfFour", kFour, zero(3), {}, kEverything},
        Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), {"clip=1.0"}},
        Mix{"Bf16Everything", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), {"accumulate=2"}, kEverything},
        Mix{"Fp16ThatSkips", kTwo, zero(1) + kFp16}, Mix{"Fp16ThatSkipsEverything", kOne, kFp16, {}, kEverything},
        Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n"), {"accumulate=2"}, kParameters},
        Mix{"Tensor", {{"tensor", 2}}, plan_entry("tensor"), {"clip=1.0"}, kEverything},
        Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=4", "clip=1.0"}, kParameters},
        Mix{"Muon", kOne, "", {"optimizer=muon"}, kParameters}, Mix{"Pieces", kOne, "", kLarge, kStates + kInPieces},
        Mix{"PiecesOfEverything", kOne, "", kLarge, kEverything + kInPieces},
        Mix{"PiecesZero1", kTwo, zero(1), kLarge, kEverything + kInPieces},
        Mix{"Whole", kOne, "", kLarge, kStates + "piece_mb = 0\n"},
        Mix{"Tiles", kOne, "", kLarge, kEverything + "tile_mb = 0.5\n" + kInPieces},
        Mix{"SomeByName", kOne, "", {}, "min_elements = 16\nstates = [\"head.*\", \"*.0.*\"]\nparameters = [\"*\"]\n"},
        Mix{"HalfOfTheBytes", kOne, "", {}, kStates + "fraction = 0.5\n"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(Delayed, HostUpdates,
                         testing::Values(Mix{"States", kOne, "", {"clip=1.0"}, kStates + kDelayed},
                                         Mix{"Everything", kOne, "", {"clip=1.0"}, kEverything + kDelayed},
                                         Mix{"Pieces", kOne, "", kLarge, kEverything + kInPieces + kDelayed},
                                         Mix{"Zero2", kTwo, zero(2), {"clip=1.0"}, kEverything + kDelayed}),
                         [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
/// The emulation compiles kernels for the processor that has the host's ones too: the same arithmetic, to the last bit.
INSTANTIATE_TEST_SUITE_P(
    OnTheEmulatedDevice, HostUpdates,
    testing::Values(
        Mix{"OneRank", kOne, kEmulated, {"clip=1.0"}}, Mix{"Sgd", kOne, kEmulated, {"optimizer=sgd"}, kParameters},
        Mix{"Zero1", kTwo, kEmulated + zero(1), {"clip=1.0"}},
        Mix{"Zero3", kTwo, kEmulated + zero(3), {"accumulate=2"}, kParameters},
        Mix{"Zero2OfFour", kFour, kEmulated + zero(2)},
        Mix{"Parameters", kOne, kEmulated, {"accumulate=2"}, kParameters},
        Mix{"Everything", kOne, kEmulated, {"accumulate=2", "clip=1.0"}, kEverything},
        Mix{"Fp16ThatSkips", kOne, kEmulated + kFp16},
        Mix{"Bf16", kOne, kEmulated + plan_entry("precision", "dtype = \"bf16\"\n"), {"clip=1.0"}, kParameters},
        Mix{"Pieces", kOne, kEmulated, kLarge, kStates + kInPieces},
        Mix{"PiecesOfEverything", kOne, kEmulated, kLarge, kEverything + kInPieces},
        Mix{"DelayedPieces", kOne, kEmulated, kLarge, kStates + kInPieces + kDelayed},
        Mix{"DelayedPiecesOfEverything", kOne, kEmulated, kLarge, kEverything + kInPieces + kDelayed},
        Mix{"DelayedZero2", kTwo, kEmulated + zero(2), {"clip=1.0"}, kParameters + kDelayed}),
    [](const auto& one) { return one.param.name; });
#endif

/// Steps that the loss scale leaves out change nothing on the host either: the first update that counts comes later.
TEST(HostUpdate, SkipsTheStepsThatALossScaleLeavesOut) {
  const auto saved = [](int steps) {
    const std::string file =
        outcome_of(manifest_of(kOne, kFp16 + offloaded_to("host", "", kStatesOnHost)), {}, steps).second;
    std::uint64_t header = 0;
    if (file.size() > sizeof header) std::memcpy(&header, file.data(), sizeof header);
    return file.substr(std::min(file.size(), sizeof header + header));
  };
  const std::string one = saved(1);
  EXPECT_FALSE(one.empty());
  EXPECT_TRUE(one == saved(2)) << "both steps are left out";
  EXPECT_FALSE(one == saved(12)) << "later ones are not";
}

/// What lies in slots is used there: neither got nor put. Beside a device with memory of its own go out the gradient
/// and the old parameter, and the new one comes in: 12 bytes of an element of fp32 rather than 16.
TEST(HostUpdate, MovesTheClosedForm) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin of a device with memory of its own";
  const std::string every = "min_elements = 1\n";
  const auto class_of = [&](const std::string& device, const std::string& options) {
    return planned_gpt(manifest_of(kOne, device + offloaded_to("host", "", options)), {"clip=1.0"})["classes"][0];
  };
  for (const std::string& device : {std::string(), kDescribed}) {
    const json with = class_of(device, every + kOnHost), without = class_of(device, every);
    const std::int64_t parameters = with["planned_bytes"]["parameters"];
    EXPECT_EQ(without["offload"]["got_bytes"], 2 * parameters);
    EXPECT_EQ(without["offload"]["put_bytes"], 2 * parameters);
    EXPECT_EQ(with["offload"]["got_bytes"], 0);
    EXPECT_EQ(with["offload"]["put_bytes"], 0);
    EXPECT_EQ(with["host_updates"]["in_place_bytes"], 2 * parameters);
    EXPECT_TRUE(with["host_updates"]["on_device"].empty());
    EXPECT_FALSE(with["planned_bytes"].contains("fetched")) << with["planned_bytes"];
    const std::int64_t out = with["host_updates"]["copied_out_bytes"], in = with["host_updates"]["copied_in_bytes"];
    EXPECT_EQ(in, device.empty() ? 0 : parameters);
    EXPECT_GE(out, device.empty() ? 0 : 2 * parameters);
    EXPECT_LE(out, device.empty() ? 0 : 2 * parameters + 64) << "and some single numbers";
  }
}

/// Parameters and gradients in slots are used there too, so that of the update only single numbers cross the bus.
TEST(HostUpdate, MovesNothingOfWhatLiesOutsideAltogether) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin of a device with memory of its own";
  const std::string every = "min_elements = 1\nparameters = [\"*\"]\ngradients = [\"*\"]\nahead = 1\n";
  const auto class_of = [&](const std::string& options) {
    return planned_gpt(manifest_of(kOne, kDescribed + offloaded_to("host", "", options)), {"clip=1.0"})["classes"][0];
  };
  const json with = class_of(every + kOnHost), without = class_of(every);
  const std::int64_t states = 2 * without["planned_bytes"]["offloaded"].get<std::int64_t>() / 4;
  EXPECT_EQ(with["host_updates"]["copied_in_bytes"], 0);
  EXPECT_LE(with["host_updates"]["copied_out_bytes"], 64);
  const auto less = [&](const char* what) {
    return without["offload"][what].get<std::int64_t>() - with["offload"][what].get<std::int64_t>();
  };
  EXPECT_GE(less("got_bytes"), states + states / 2) << "states and parameters, and most gradients";
  EXPECT_LE(less("put_bytes"), states + states / 2);
  EXPECT_GE(less("put_bytes"), states) << "states; gradients that stayed for the update are put now";
}

/// Pinned places are taken in turn: with so many updates under way they are those of a few pieces.
TEST(HostUpdate, TakesPinnedMemoryOfAFewPieces) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin of a device with memory of its own";
  const auto pinned = [&](const std::string& options) -> std::int64_t {
    return planned_gpt(manifest_of(kOne, kDescribed + offloaded_to("host", "", kStatesOnHost + options)),
                       kLarge)["classes"][0]["planned_bytes"]["pinned_updates"];
  };
  constexpr std::int64_t kPiece = 512 << 10, kMatrix = 288 * 4 * 288 * 4;
  // Each piece has a gradient and a parameter; those of `ahead` updates come, one runs, those of two are on their way.
  EXPECT_LE(pinned("ahead = 1\npiece_mb = 0.5\n"), 4 * (2 * kPiece) + (64 << 10));
  EXPECT_LE(pinned("ahead = 2\npiece_mb = 0.5\n"), 5 * (2 * kPiece) + (64 << 10));
  EXPECT_GE(pinned("ahead = 1\npiece_mb = 0\n"), 2 * kMatrix);
}

#if EMULATES_CUDA
/// The thread that runs the program only enqueues: it waits for the device as often as with updates by the device.
TEST(HostUpdate, TakesNoWaitOfTheHost) {
  const auto waits = [](const std::string& options, int steps) {
    const TemporaryFolder folder;
    const std::string told = folder / "waits.txt";
    setenv("EMULATED_CUDA_WAITS", told.c_str(), 1);
    const ProcessResult run =
        run_parity({"run", "--steps", std::to_string(steps)}, "gpt",
                   manifest_of(kOne, kEmulated + offloaded_to("host", "", options)), {"clip=1.0"});
    unsetenv("EMULATED_CUDA_WAITS");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const std::string lines = read_file(told);
    return std::count(lines.begin(), lines.end(), '\n');
  };
  for (const std::string& options : {kStates, kEverything, kStates + kDelayed}) {
    const auto device = waits(options, 6) - waits(options, 2);
    EXPECT_GT(device, 0) << options;
    EXPECT_EQ(waits(options + kOnHost, 6) - waits(options + kOnHost, 2), device) << options;
  }
}

/// A device that fails in the midst of it ends the run with its own error, and nobody waits for ever.
TEST(HostUpdate, EndsWhereTheDeviceFails) {
  for (const std::string& options : {kStatesOnHost, kStatesOnHost + kDelayed}) {
    const TemporaryFolder folder;
    const std::string when = folder / "now";
    setenv("EMULATED_CUDA_FAULT", "baleen_norm_grad", 1);
    setenv("EMULATED_CUDA_FAULT_WHEN", when.c_str(), 1);
    RunningJob job({build_dir() + "/bin/baleen", "run", source_dir() + "/tests/parity/gpt.lua", "--manifest",
                    folder.write("ranks.toml", manifest_of(kOne, kEmulated + offloaded_to("host", "", options))),
                    "--steps", "1000000", "--", "--data", source_dir() + "/tests/golden/whales.txt"});
    unsetenv("EMULATED_CUDA_FAULT");
    unsetenv("EMULATED_CUDA_FAULT_WHEN");
    ASSERT_TRUE(job.prints("step 1/", 1, std::chrono::minutes(2))) << job.err();
    folder.write("now", "");
    const auto code = job.ends(std::chrono::minutes(1));
    ASSERT_TRUE(code.has_value()) << "it hangs";
    EXPECT_NE(*code, 0);
    EXPECT_NE(job.err().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << job.err();
  }
}

TEST(HostUpdate, TakesWhatThePlanSays) {
  for (const std::string& options : {kStatesOnHost, kEverything + kOnHost + "piece_mb = 0.5\n"}) {
    const std::string manifest = manifest_of(kOne, kEmulated + offloaded_to("host", "", options));
    const json planned = planned_gpt(manifest, kLarge)["classes"][0]["planned_bytes"];
    const auto account = account_of("gpt", manifest, 1, kLarge, 2).front();
    // The plan's device is described; the emulated libraries want less scratch than real ones may.
    for (const char* kind : {"offloaded", "pinned_updates"})
      EXPECT_EQ(account.at("planned_bytes." + std::string(kind)), planned[kind].get<double>()) << kind;
    EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), account.at("planned_bytes.total"));
  }
}

/// A step that is not finite is repeated, watched, and taken back, wherever its update runs.
TEST(HostUpdate, IsTakenBackWhereAStepIsNotFinite) {
  for (const auto& [device, options] : {std::pair{std::string(), kStatesOnHost}, std::pair{kEmulated, kStatesOnHost},
                                        std::pair{std::string(), kStates}, std::pair{kEmulated, kStates}}) {
    const TemporaryFolder folder;
    const ProcessResult run = run_parity({"run", "--steps", "9", "--save", folder / "saved.safetensors"}, "gpt",
                                         manifest_of(kOne, device + offloaded_to("host", "", options)), {"lr=1e9"});
    EXPECT_EQ(run.exit_code, 6) << run.out << run.err;
    EXPECT_NE(run.err.find("made 2304 of the 2304 numbers of "), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("the parameters after step "), std::string::npos) << run.err;
  }
}
#endif

TEST(HostUpdate, GoesOnFromACheckpointWithTheSameBits) {
  expect_same_bits_when_resumed({"on the host", kOne, offloaded_to("host", "", kEverything + kOnHost)});
}

TEST(HostUpdate, IsVerified) {
  const ProcessResult result =
      run_parity({"verify", "--steps", "4"}, "gpt",
                 manifest_of(kTwo, zero(1) + offloaded_to("host", "", kParameters + kOnHost)), {"clip=1.0"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
}

/// Who says so is told why the device makes an update all the same, by plan and run.
TEST(HostUpdate, ThatIsNotElementwiseStaysInTheDeviceAndIsNamed) {
  const std::string manifest = manifest_of(kOne, offloaded_to("host", "", kStatesOnHost));
  for (const std::string optimizer : {"lamb", "adafactor"}) {
    for (const std::string command : {"plan", "run"}) {
      const ProcessResult result = run_parity({command}, "gpt", manifest, {"optimizer=" + optimizer});
      EXPECT_EQ(result.exit_code, 0) << result.err;
      const std::string& text = command == "plan" ? result.out : result.err;
      EXPECT_NE(text.find("values are updated by the device, since their update is not elementwise: `blocks.0."),
                std::string::npos)
          << text;
    }
    EXPECT_EQ(host_updates_of(manifest, {"optimizer=" + optimizer})["updates"], 0) << optimizer;
  }
}

TEST(HostUpdate, StaysInTheDeviceWhereSlotsAreNoMemory) {
  const TemporaryFolder swap;
  for (const std::string& store :
       {offloaded_to("nvme", on_disk(swap), kStatesOnHost), in_two_places(0.05, swap, kStatesOnHost)}) {
    const json updates = host_updates_of(manifest_of(kOne, store), {});
    EXPECT_EQ(updates["updates"], 0);
    EXPECT_EQ(updates["on_device"].size(), 58u) << updates;
    EXPECT_NE(updates["why_on_device"].get<std::string>().find("lets its memory be used in place"), std::string::npos);
    EXPECT_EQ(outcome_of(manifest_of(kOne, store), {}, 3).first, outcome_of(manifest_of(kOne, ""), {}, 3).first);
  }
}

/// A device with memory of its own is none that works on the host's.
TEST(HostUpdate, ByADeviceWithMemoryOfItsOwnIsRefused) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin of a device with memory of its own";
  const std::string host = "[host_compute]\nplugin = \"cuda\"\narchitecture = \"9.0\"\nmemory = 8000\n";
  for (const char* command : {"plan", "run"}) {
    const ProcessResult result =
        run_parity({command}, "gpt", manifest_of({{"data", 1}}, offloaded_to("host") + host), {});
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_NE(result.err.find("`cuda` has memory of its own, and [host_compute] names who updates what lies in the "
                              "host's; name one that works on that, or none"),
              std::string::npos)
        << result.err;
    EXPECT_NE(result.err.find("ranks.toml:"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace baleen::test
