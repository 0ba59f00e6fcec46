/// \file Updates that are a step late (`delay_update`): the numbers beside the script alone, the bits wherever things
/// lie, and what a training of ordinary updates says of them.
#include <cstring>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

const std::string kLate = "delay_update = true\n", kInside = "min_elements = 1000000000\n";

class LateUpdates : public testing::TestWithParam<Mix> {
 protected:
  void SetUp() override {
    const std::string with = GetParam().plan + plan_entry("offload");
    if (const std::string missing = missing_strategy(manifest_of(GetParam().axes, with)); !missing.empty())
      GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  }
};

TEST_P(LateUpdates, AreThoseOfTheScriptAloneAStepLater) {
  const Mix& mix = GetParam();
  const std::string manifest = manifest_of(mix.axes, mix.plan + offloaded_to("host", "", mix.options + kLate));
  for (const std::string dtype : {"fp64", "fp32"}) {
    const ProcessResult result =
        run_parity({"verify", "--dtype", dtype, "--steps", "5"}, "gpt", manifest, mix.arguments);
    EXPECT_EQ(result.exit_code, 0) << dtype << result.out << result.err;
    EXPECT_NE(result.out.find("a step makes the update of the step before (delayed), in the script alone too"),
              std::string::npos)
        << result.out;
  }
}

TEST_P(LateUpdates, HaveTheSameBitsWhereverThingsLie) {
  const Mix& mix = GetParam();
  const TemporaryFolder swap;
  const auto result_of = [&](const std::string& more) {
    return outcome_of(manifest_of(mix.axes, mix.plan + more), mix.arguments, 6);
  };
  const auto inside = result_of(plan_entry("offload", kInside + kLate));
  ASSERT_EQ(inside.first.size(), 6u);
  for (const std::string& store : {offloaded_to("host", "", mix.options + kLate),
                                   offloaded_to("nvme", on_disk(swap), mix.options + kLate + "piece_mb = 0.5\n")}) {
    const auto got = result_of(store);
    EXPECT_EQ(got.first, inside.first) << store;
    EXPECT_TRUE(got.second == inside.second) << "saved parameters differ: " << store;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LateUpdates,
    testing::Values(
        Mix{"States", kOne, ""}, Mix{"Clipped", kOne, "", {"clip=0.1"}, kEverything},
        Mix{"Tied", kOne, "", {"tied", "clip=1.0"}, kEverything}, Mix{"InPieces", kOne, "", kLarge},
        Mix{"EverythingInPieces", kOne, "", kLarge, kEverything}, Mix{"Data", kTwo, "", {"clip=1.0"}, kParameters},
        Mix{"Zero1", kTwo, zero(1), {"clip=1.0"}, kEverything}, Mix{"Zero2", kTwo, zero(2), {}, kEverything},
        Mix{"ManyPieces", kOne, "", {"layers=1", "dim=400", "heads=2", "batch=2", "context=8"}, kEverything},
        Mix{"OneBit",
            kTwo,
            plan_entry("data") + plan_entry("compress", "method = \"1bit\"\nwarmup_steps = 2\nmin_elements = 64\n"),
            {"clip=1.0"}},
        Mix{"Zero3", kTwo, zero(3), kLarge, kEverything}, Mix{"Lamb", kOne, "", {"optimizer=lamb"}, kParameters},
        Mix{"Muon", kTwo, zero(1), {"optimizer=muon"}},
        Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), {"clip=1.0"}, kEverything},
        Mix{"Fp16ScaledLoss", kTwo, zero(1) + plan_entry("precision", "dtype = \"fp16\"\n"), {}, kEverything},
        Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n"), {}, kEverything},
        Mix{"Tensor", {{"tensor", 2}}, plan_entry("tensor"), {"clip=1.0"}, kEverything},
        Mix{"Compress", kTwo, plan_entry("data") + plan_entry("compress", "method = \"8bit\"\n"), {}, kParameters}),
    [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
INSTANTIATE_TEST_SUITE_P(OnTheEmulatedDevice, LateUpdates,
                         testing::Values(Mix{"Everything", kOne, kEmulated, {"clip=1.0"}, kEverything},
                                         Mix{"InPieces", kOne, kEmulated, kLarge, kEverything},
                                         Mix{"Zero2", kTwo, kEmulated + zero(2), {"clip=1.0"}, kParameters}),
                         [](const auto& one) { return one.param.name; });
#endif

/// What a parameter file holds behind its header, which says at which step.
std::string tensors_of(const std::string& file) {
  std::uint64_t header = 0;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  return file.substr(sizeof header + header);
}

/// The first update is made in the second step. It is that of step 1, with the rate of step 1, so it leaves the bits
/// that the first step without delay leaves.
TEST(LateUpdate, ComesAStepAfterTheOrdinaryOne) {
  const auto saved = [](const std::string& plan, int steps) {
    return tensors_of(outcome_of(manifest_of(kOne, plan), {"clip=0.1"}, steps).second);
  };
  const std::string late = plan_entry("offload", kInside + kLate);
  const std::string ordinary = saved("", 1);
  EXPECT_FALSE(ordinary.empty());
  EXPECT_TRUE(ordinary == saved(late, 2)) << "parameters after the first update differ";
  EXPECT_FALSE(ordinary == saved(late, 1)) << "the first step makes no update";
  EXPECT_FALSE(saved("", 2) == saved(late, 3)) << "the second update is of a gradient that the first did not change";
}

/// What waits for the next step is in checkpoints.
TEST(LateUpdate, GoesOnFromACheckpointWithTheSameBits) {
  expect_same_bits_when_resumed({"late", kOne, offloaded_to("host", "", kEverything + kLate)});
}

/// What the plan says a rank holds is what a run allocates.
TEST(LateUpdate, TakesWhatThePlanSays) {
  for (const std::string& options : {std::string("min_elements = 16\n"), kEverything + "piece_mb = 0.5\n"}) {
    const std::string manifest = manifest_of(kOne, offloaded_to("host", "", options + kLate));
    const nlohmann::json planned = planned_gpt(manifest, kLarge)["classes"][0]["planned_bytes"];
    const auto account = account_of("gpt", manifest, 1, kLarge, 2).front();
    EXPECT_EQ(account.at("planned_bytes.total"), planned["total"].get<double>());
    EXPECT_EQ(account.at("allocated_bytes") + account.at("planned_bytes.device"), planned["total"].get<double>());
    EXPECT_EQ(account.at("planned_bytes.offloaded"), planned["offloaded"].get<double>());
  }
}

/// What waits is stored as moments are: with AdamW a rank holds 12 bytes where it held 8 of an element of which it
/// updates its part, P/N (zero 1 to 3) or P; and ranks send what they send without delay.
TEST(LateUpdate, HoldsTheClosedFormAndSendsNoMore) {
  for (const std::string& plan : {plan_entry("data"), zero(1), zero(2), zero(3)}) {
    const auto one = [&](const std::string& more) {
      return planned_gpt(manifest_of(kTwo, plan + more), kLarge)["classes"][0];
    };
    const auto late = one(plan_entry("offload", kInside + kLate)), ordinary = one("");
    const auto held = ordinary["planned_bytes"]["optimizer"].get<double>();
    EXPECT_GT(held, 0) << plan;
    EXPECT_EQ(late["planned_bytes"]["optimizer"].get<double>(), held / 8 * 12) << plan;
    EXPECT_EQ(late["sent_bytes"], ordinary["sent_bytes"]) << plan;
  }
}

/// Parameters that are gathered have no second copy: their new shards wait for it. Gradients of 16 bits are not held
/// until the update.
TEST(LateUpdate, HoldsHardlyMoreBesideOtherStrategies) {
  const auto planned = [](const std::string& plan) {
    return planned_gpt(manifest_of(kTwo, plan), kLarge)["classes"][0]["planned_bytes"];
  };
  const std::string outside = "min_elements = 16\ngradients = [\"*\"]\n";
  constexpr double kMatrix = 331776 * 4;
  for (const auto& [plan, gathers] :
       {std::pair(zero(1), true), std::pair(zero(2), true),
        std::pair(plan_entry("data") + plan_entry("precision", "dtype = \"bf16\"\n"), false)}) {
    const auto late = planned(plan + offloaded_to("host", "", outside + kLate));
    const auto ordinary = planned(plan + offloaded_to("host", "", outside));
    const double shards = gathers ? ordinary["parameters"].get<double>() / 2 : 0;
    EXPECT_LT(late["total"].get<double>(), ordinary["total"].get<double>() + shards + 2 * kMatrix) << plan;
  }
}

/// Nothing of the gradients is moved for their norm, nor for an update that is made where the states lie anyway.
TEST(LateUpdate, MovesEachGradientOnceEachWay) {
  const auto moved = [](const std::string& options) {
    const auto report = planned_gpt(manifest_of(kOne, offloaded_to("host", "", options + kLate)), kLarge);
    const auto& offload = report["classes"][0]["offload"];
    return std::pair(offload["got_bytes"].get<double>(), offload["put_bytes"].get<double>());
  };
  const std::string states = "min_elements = 16\n";
  const auto [got, put] = moved(states);
  const auto [got_too, put_too] = moved(states + "gradients = [\"*\"]\n");
  EXPECT_EQ(got, put) << "states";
  EXPECT_EQ(got_too - got, put_too - put);
  EXPECT_EQ(2 * (got_too - got), got) << "AdamW has two states of the gradient's size";
}

}  // namespace
}  // namespace baleen::test
