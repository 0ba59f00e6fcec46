/// \file Losses and parameters have the same bits wherever states, parameters, gradients and activations lie, whatever
/// stands beside it.
#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

std::pair<Losses, std::string> result_of(const Mix& mix, const std::string& more) {
  return outcome_of(manifest_of(mix.axes, mix.plan + more), mix.arguments, 6);
}

std::string one_ahead(const std::string& options) {
  return options.find("ahead") == std::string::npos ? options + "ahead = 1\n" : options;
}

class OffloadedStates : public testing::TestWithParam<Mix> {};

TEST_P(OffloadedStates, ChangeNoBit) {
  const Mix& mix = GetParam();
  const std::string with = mix.plan + plan_entry("offload");
  if (const std::string missing = missing_strategy(manifest_of(mix.axes, with)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const auto expected = result_of(mix, "");
  ASSERT_EQ(expected.first.size(), 6u);
  const TemporaryFolder swap;
  for (const std::string& store :
       {offloaded_to("host", "", mix.options), offloaded_to("nvme", on_disk(swap), one_ahead(mix.options))}) {
    const auto got = result_of(mix, store);
    EXPECT_EQ(got.first, expected.first) << store;
    EXPECT_TRUE(got.second == expected.second) << "saved parameters differ: " << store;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, OffloadedStates,
    testing::Values(Mix{"OneRank", kOne, ""}, Mix{"MicroBatches", kOne, "", {"accumulate=2", "clip=1.0"}},
                    Mix{"Data", kTwo, "", {"clip=1.0"}}, Mix{"Zero1", kTwo, zero(1)},
                    Mix{"Zero2", kTwo, zero(2), {"accumulate=2"}}, Mix{"Zero3", kTwo, zero(3), {"clip=1.0"}},
                    Mix{"Lamb", kOne, "", {"optimizer=lamb"}}, Mix{"LambInShards", kTwo, zero(1), {"optimizer=lamb"}},
                    Mix{"Adafactor", kOne, "", {"optimizer=adafactor"}}, Mix{"Muon", kTwo, zero(1), {"optimizer=muon"}},
                    Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n")},
                    Mix{"Fp16ScaledLoss", kTwo, zero(1) + plan_entry("precision", "dtype = \"fp16\"\n")},
                    Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n")},
                    Mix{"Tensor", {{"tensor", 2}}, plan_entry("tensor")},
                    Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=4"}},
                    Mix{"HalfOfTheBytes", kOne, "", {}, "min_elements = 16\nfraction = 0.5\n"},
                    Mix{"SomeByName", kOne, "", {}, "min_elements = 16\nstates = [\"head.*\", \"*.0.*\"]\n"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WithParameters, OffloadedStates,
    testing::Values(
        Mix{"OneRank", kOne, "", {}, kParameters},
        Mix{"MicroBatches", kOne, "", {"accumulate=2", "clip=1.0"}, kParameters},
        Mix{"Tied", kTwo, "", {"tied", "clip=1.0"}, kParameters},
        Mix{"Zero1", kTwo, zero(1), {"accumulate=2"}, kParameters}, Mix{"Zero2", kTwo, zero(2), {}, kParameters},
        Mix{"Zero3", kTwo, zero(3), {"accumulate=2", "clip=1.0"}, kParameters},
        Mix{"Lamb", kTwo, zero(1), {"optimizer=lamb"}, kParameters},
        Mix{"Muon", kOne, "", {"optimizer=muon"}, kParameters},
        Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), {"accumulate=2"}, kParameters},
        Mix{"Fp16ScaledLoss", kTwo, zero(3) + plan_entry("precision", "dtype = \"fp16\"\n"), {}, kParameters},
        Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n"), {"accumulate=2"}, kParameters},
        Mix{"Tensor", {{"tensor", 2}}, plan_entry("tensor"), {}, kParameters},
        Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=4"}, kParameters},
        Mix{"GridsInAPipeline",  // ranks of a stage share their parts in every micro-batch
            {{"pipeline", 2}, {"tensor", 4}},
            plan_entry("pipeline") + plan_entry("tensor", "mode = \"2d\"\n"),
            {"accumulate=4"},
            kParameters},
        Mix{"GridsInAPipelineFarAhead",
            {{"pipeline", 2}, {"tensor", 4}},
            plan_entry("pipeline") + plan_entry("tensor", "mode = \"2d\"\n"),
            {"accumulate=4"},
            kParameters + "ahead = 5\n"},
        Mix{"SomeByName", kOne, "", {}, "min_elements = 16\nparameters = [\"*.0.*\"]\nfraction = 0.5\n"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    WithEverything, OffloadedStates,
    testing::Values(
        Mix{"OneRank", kOne, "", {"clip=1.0"}, kEverything},
        Mix{"MicroBatches", kOne, "", {"accumulate=4", "clip=1.0"}, kEverything},
        Mix{"Data", kTwo, "", {"clip=1.0"}, kEverything},
        Mix{"DataInSmallBuckets", kTwo, plan_entry("data", "bucket_mb = 0.01\n"), {"accumulate=2"}, kEverything},
        Mix{"Tied", kTwo, "", {"tied", "clip=1.0", "accumulate=2"}, kEverything},
        Mix{"Zero1", kTwo, zero(1), {"accumulate=2"}, kEverything},
        Mix{"Zero2", kTwo, zero(2), {"accumulate=2", "clip=1.0"}, kEverything},
        Mix{"Zero3", kTwo, zero(3), {"accumulate=2", "clip=1.0"}, kEverything},
        Mix{"Zero3OneBatch", kTwo, zero(3), {}, kEverything},
        Mix{"Lamb", kTwo, zero(1), {"optimizer=lamb"}, kEverything},
        Mix{"Muon", kOne, "", {"optimizer=muon", "accumulate=2"}, kEverything},
        Mix{"Adafactor", kOne, "", {"optimizer=adafactor"}, kEverything},
        Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), {"accumulate=2"}, kEverything},
        Mix{"Fp16ScaledLoss", kTwo, zero(3) + plan_entry("precision", "dtype = \"fp16\"\n"), {}, kEverything},
        Mix{"Recompute", kOne, plan_entry("recompute", "mode = \"full\"\n"), {"accumulate=2"}, kEverything},
        Mix{"Tensor", {{"tensor", 2}}, plan_entry("tensor"), {"clip=1.0"}, kEverything},
        Mix{"Sequence", {{"sequence", 2}}, plan_entry("sequence"), {"accumulate=2"}, kEverything},
        Mix{"Compress", kTwo, plan_entry("compress", "method = \"8bit\"\n"), {}, kEverything},
        Mix{"Pipeline", {{"pipeline", 2}}, plan_entry("pipeline"), {"accumulate=4", "clip=1.0"}, kEverything},
        Mix{"PipelineAndData",
            {{"pipeline", 2}, {"data", 2}},
            plan_entry("pipeline") + plan_entry("data"),
            {"accumulate=4"},
            kEverything},
        Mix{"SomeByName", kOne, "", {}, "min_elements = 16\nstates = [\"head.*\"]\ngradients = [\"*.0.*\"]\n"}),
    [](const auto& one) { return one.param.name; });

const std::string kPieces = "piece_mb = 0.5\n";

INSTANTIATE_TEST_SUITE_P(InPieces, OffloadedStates,
                         testing::Values(Mix{"States", kOne, "", kLarge, kPieces},
                                         Mix{"Everything", kOne, "", kLarge, kEverything + kPieces},
                                         Mix{"Zero1", kTwo, zero(1), kLarge, kEverything + kPieces},
                                         Mix{"Bf16", kOne, plan_entry("precision", "dtype = \"bf16\"\n"), kLarge,
                                             kEverything + kPieces}),
                         [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
/// The device copies from and to the host's memory by itself; what goes to a disk passes through pinned memory.
INSTANTIATE_TEST_SUITE_P(OnTheEmulatedDevice, OffloadedStates,
                         testing::Values(Mix{"OneRank", kOne, kEmulated, {"clip=1.0"}},
                                         Mix{"Zero1", kTwo, kEmulated + zero(1)},
                                         Mix{"Zero3", kTwo, kEmulated + zero(3), {"accumulate=2"}},
                                         Mix{"Lamb", kOne, kEmulated, {"optimizer=lamb"}},
                                         Mix{"Parameters", kOne, kEmulated, {"accumulate=2"}, kParameters},
                                         Mix{"ParametersZero3", kTwo, kEmulated + zero(3), {}, kParameters},
                                         Mix{"Everything", kOne, kEmulated, {"accumulate=2", "clip=1.0"}, kEverything},
                                         Mix{"EverythingZero2", kTwo, kEmulated + zero(2), {}, kEverything},
                                         Mix{"InPieces", kOne, kEmulated, kLarge, kEverything + kPieces}),
                         [](const auto& one) { return one.param.name; });
#endif

}  // namespace
}  // namespace baleen::test
