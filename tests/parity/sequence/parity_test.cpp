/// \file With sequences cut over ranks, N ranks compute what one rank computes: `baleen verify`, in fp64, over modes,
/// meshes and what a step may hold.
#include <gtest/gtest.h>

#include "sequence_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string name;
  MeshAxes mesh;
  PlanEntries plan;
  std::vector<std::string> arguments = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class SequenceParity : public ::testing::TestWithParam<Case> {};

TEST_P(SequenceParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  verify_parity("gpt", sequence_manifest(c.mesh, c.plan), c.arguments);
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.name; }

PlanEntry on(PlanEntry entry, const std::string& axis) {
  entry.options += "axis = \"" + axis + "\"\n";
  return entry;
}

const std::vector<std::string> kEverything{"tied",        "accumulate=2", "clip=0.5",
                                           "dropout=0.2", "masked=101",   "optimizer=lamb"};
const std::vector<std::string> kGrouped{"heads=6",  "kv_heads=2",        "dim=36",   "rotary",
                                        "norm=rms", "activation=swiglu", "hidden=33"};

std::vector<std::string> with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Thirteen tokens on two ranks are blocks of seven and six; three heads, of two and one.
std::vector<Case> all_to_all() {
  return {
      {"OnTwo", {{"sequence", 2}}, {ulysses()}},
      {"OnTwoUneven", {{"sequence", 2}}, {ulysses()}, with(kEverything, {"context=13"})},
      {"OnThree", {{"sequence", 3}}, {ulysses()}, with(kEverything, {"context=11"})},
      {"OnFour", {{"sequence", 4}}, {ulysses()}, {"heads=6", "context=10", "clip=1"}},
      {"GroupedOnTwo", {{"sequence", 2}}, {ulysses()}, kGrouped},
      {"ByNameOfTheAxis", {{"data", 1}, {"sequence", 2}}, {}},
      {"WithoutMask", {{"sequence", 2}}, {ulysses()}, {"bidirectional", "context=9"}},
      {"InSmallBuckets", {{"sequence", 2}}, {{"sequence", "bucket_mb = 0.001\n"}}, {"accumulate=2", "clip=1"}},
  };
}

/// Twelve tokens on three ranks are six chunks of two.
std::vector<Case> rings() {
  return {
      {"OnTwo", {{"sequence", 2}}, {ring()}},
      {"OnTwoWithEverything", {{"sequence", 2}}, {ring()}, kEverything},
      {"OnThree", {{"sequence", 3}}, {ring()}, with(kEverything, {"context=18"})},
      {"OnFour", {{"sequence", 4}}, {ring()}, with(kEverything, {"context=16"})},
      {"OnEight", {{"sequence", 8}}, {ring()}, {"context=16"}},
      {"GroupedOnTwo", {{"sequence", 2}}, {ring()}, kGrouped},
      {"GroupedOnThree", {{"sequence", 3}}, {ring()}, with(kGrouped, {"accumulate=4", "clip=0.5"})},
      {"WithoutMask", {{"sequence", 3}}, {ring()}, {"bidirectional", "context=9"}},
      {"Documents", {{"sequence", 2}}, {ring()}, {"documents"}},
      {"DocumentsOnThreeWithoutMask", {{"sequence", 3}}, {ring()}, {"documents", "bidirectional"}},
  };
}

/// On the ranks of the strategy `tensor`, which the axis brings along.
std::vector<Case> around_tensor() {
  const PlanEntry tensor{"tensor"};
  return {
      {"OnTwo", {{"tensor", 2}}, {megatron(), tensor}},
      {"OnTwoByNameOfTheAxis", {{"tensor", 2}}, {megatron()}, with(kEverything, {"heads=4"})},
      {"OnThree", {{"tensor", 3}}, {tensor, megatron()}, with(kEverything, {"context=13"})},
      {"OnFour",
       {{"tensor", 4}},
       {megatron()},
       {"heads=8", "kv_heads=4", "norm=rms", "activation=swiglu", "hidden=33"}},
      {"WithData", {{"data", 2}, {"tensor", 2}}, {megatron()}, kEverything},
      {"WithDataOnEight", {{"data", 2}, {"tensor", 4}}, {megatron()}, with(kEverything, {"heads=4"})},
  };
}

std::vector<Case> mixes() {
  const PlanEntry data{"data"}, tensor{"tensor"};
  return {
      {"UlyssesData", {{"data", 2}, {"sequence", 2}}, {data, ulysses()}, with(kEverything, {"context=13"})},
      {"UlyssesDataUneven", {{"data", 3}, {"sequence", 2}}, {ulysses()}, {"batch=10"}},
      {"RingData", {{"data", 2}, {"sequence", 2}}, {data, ring()}, kEverything},
      {"DataInRing", {{"sequence", 2}, {"data", 2}}, {data, ring()}, {"clip=1"}},
      {"UlyssesTensor", {{"sequence", 2}, {"tensor", 2}}, {ulysses(), tensor}, with(kEverything, {"heads=4"})},
      {"TensorUlysses", {{"tensor", 2}, {"sequence", 2}}, {tensor, ulysses()}, {"heads=6", "context=13"}},
      {"UnevenHeadsRingTensor", {{"tensor", 2}, {"sequence", 2}}, {tensor, ring()}, {"heads=3"}},
      {"RingDataUneven", {{"data", 3}, {"sequence", 2}}, {ring()}, {"batch=10"}},
      {"RingDataUnevenMicroBatches", {{"data", 2}, {"sequence", 2}}, {ring()}, with(kEverything, {"batch=6"})},
      {"RingTensor", {{"sequence", 2}, {"tensor", 2}}, {ring(), tensor}, with(kEverything, {"heads=4"})},
      {"TensorRingGrouped", {{"tensor", 2}, {"sequence", 2}}, {tensor, ring()}, kGrouped},
      {"UlyssesTensorData", {{"data", 2}, {"sequence", 2}, {"tensor", 2}}, {ulysses(), tensor}, {"heads=4"}},
      {"UlyssesMegatron",
       {{"data", 2}, {"sequence", 2}, {"tensor", 2}},
       {ulysses(), megatron()},
       with(kEverything, {"heads=4"})},
      {"RingMegatron",
       {{"data", 2}, {"sequence", 2}, {"tensor", 2}},
       {ring(), megatron()},
       with(kEverything, {"heads=4"})},
      {"UlyssesInRing",
       {{"ring", 2}, {"sequence", 4}},
       {on(ring(), "ring"), ulysses()},
       with(kEverything, {"heads=4", "context=16"})},
      {"RingInUlysses",
       {{"sequence", 2}, {"ring", 4}},
       {ulysses(), on(ring(), "ring")},
       {"heads=4", "context=16", "documents"}},
      {"UlyssesTwice",
       {{"sequence", 2}, {"more", 2}},
       {ulysses(), on(ulysses(), "more")},
       with(kEverything, {"heads=4", "context=13"})},
      {"RingTensorData",
       {{"data", 2}, {"sequence", 2}, {"tensor", 2}},
       {ring(), tensor},
       with(kEverything, {"heads=4"})},
  };
}

/// With model states in shards along the data's axis, and along both.
std::vector<Case> with_zero() {
  const PlanEntry three{"zero", "stage = 3\n"}, both{"zero", "stage = 3\nalso = \"sequence\"\n"};
  const PlanEntry two{"zero", "stage = 2\nreplicate_below = 100\n"}, one{"zero", "stage = 1\nalso = \"sequence\"\n"};
  return {
      {"ThreeRing", {{"data", 2}, {"sequence", 2}}, {three, ring()}, kEverything},
      {"ThreeUlysses", {{"data", 2}, {"sequence", 2}}, {three, ulysses()}, with(kEverything, {"context=13"})},
      {"ThreeAlongBothRing", {{"data", 2}, {"sequence", 4}}, {both, ring()}, with(kEverything, {"context=16"})},
      {"OneAlongBothUlysses", {{"sequence", 2}, {"data", 2}}, {one, ulysses()}, with(kEverything, {"context=13"})},
      {"TwoRingMegatron",
       {{"data", 2}, {"sequence", 2}, {"tensor", 2}},
       {two, ring(), megatron()},
       with(kEverything, {"heads=4"})},
      {"ThreeUlyssesMegatron",
       {{"sequence", 2}, {"data", 2}, {"tensor", 2}},
       {three, ulysses(), megatron()},
       with(kEverything, {"heads=4", "context=13"})},
  };
}

INSTANTIATE_TEST_SUITE_P(Ulysses, SequenceParity, ::testing::ValuesIn(all_to_all()), name_of);
INSTANTIATE_TEST_SUITE_P(Ring, SequenceParity, ::testing::ValuesIn(rings()), name_of);
INSTANTIATE_TEST_SUITE_P(Megatron, SequenceParity, ::testing::ValuesIn(around_tensor()), name_of);
INSTANTIATE_TEST_SUITE_P(Zero, SequenceParity, ::testing::ValuesIn(with_zero()), name_of);
INSTANTIATE_TEST_SUITE_P(Mixes, SequenceParity, ::testing::ValuesIn(mixes()), name_of);

/// Ranks that keep no term add up a sum over micro-batches that they have no use for.
TEST(SequenceOfShiftedCopies, ComputesWhatOneRankComputes) {
  verify_parity("shifted",
                manifest_of({{"data", 4}, {"sequence", 2}},
                            "[[plan]]\nstrategy = \"data\"\n"
                            "[[plan]]\nstrategy = \"sequence\"\n"),
                {});
}

}  // namespace
}  // namespace baleen::test
