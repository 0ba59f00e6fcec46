/// \file What ZeRO holds while micro-batches are added up, at the peak of all that is planned: of gradients no more
/// than the table of strategies/zero/README.md says. Ψ parameters, N ranks along ZeRO's axis, all fp32.
#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA)

/// Large weights and few activations, or many, over four micro-batches.
Planned plan_in_turns(const MeshAxes& mesh, const std::string& entries, int context) {
  return plan_of("plan/gpt_large", manifest_of(mesh, entries),
                 {"layers=8", "dim=128", "heads=4", "vocab=256", "batch=16", "accumulate=4",
                  "context=" + std::to_string(context), "data=" + source_dir() + "/tests/golden/whales.txt"});
}

std::string zero_entry(int stage, const std::string& more = {}) {
  return "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n" + more;
}

constexpr const char* kData = "[[plan]]\nstrategy = \"data\"\n";

/// The whole gradients are there from the first turn on, the shards are received in the last one, when activations die.
void expect_saved(const MeshAxes& mesh, const std::string& without, const std::string& with, double ranks) {
  const Planned plain = plan_in_turns(mesh, without, 64), cut = plan_in_turns(mesh, with, 64);
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(cut.exit_code, 0) << cut.err;
  const double saved = 8 * cut.parameters * (1 - 1 / ranks);
  EXPECT_NEAR(plain.classes[0].bytes("total") - cut.classes[0].bytes("total"), saved, 0.01 * saved) << with << ranks;
  EXPECT_NEAR(cut.classes[0].bytes("gradients"), 4 * cut.parameters, 0.04 * cut.parameters) << with << ranks;
}

TEST(ZeroInTurns, Stage1SavesTheShardsOfStatesAndHoldsGradientsOnce) {
  for (const int ranks : {2, 4}) {
    expect_saved({{"data", ranks}}, kData, zero_entry(1), ranks);
    expect_saved({{"data", ranks}}, kData, zero_entry(2, "reduce_gradients = \"once_per_step\"\n"), ranks);
  }
}

TEST(ZeroInTurns, Stage1WithCopiesOutsideSavesAsMuch) {
  const std::string outside = std::string(kData) + "axis = \"shard\"\n" + kData;
  expect_saved({{"data", 2}, {"shard", 2}}, outside, kData + zero_entry(1, "axis = \"shard\"\n"), 2);
}

/// Each shard is added to its sum when it has come: beside the sums there is no more than what is under way, two
/// buckets of whole gradients with their shards.
TEST(ZeroInTurns, Stages2And3HoldTheirShardsOfGradientsOnce) {
  for (const int ranks : {2, 4})
    for (const int stage : {2, 3}) {
      const Planned planned = plan_in_turns({{"data", ranks}}, zero_entry(stage, "bucket_mb = 0.25\n"), 4);
      ASSERT_EQ(planned.exit_code, 0) << planned.err;
      const double shards = 4 * planned.parameters / ranks, bucket = 0.25 * 1024 * 1024;
      EXPECT_GE(planned.classes[0].bytes("gradients"), shards);
      EXPECT_LE(planned.classes[0].bytes("gradients"), shards + 2 * bucket * (1 + 1.0 / ranks)) << stage << ranks;
    }
}

#endif

}  // namespace
}  // namespace baleen::test
