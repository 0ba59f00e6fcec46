/// \file Training with products in 8 bits: as well as with 16, on any number of ranks, from checkpoints too.
#include <cmath>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/plan/planned.hpp"
#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA) && defined(BALEEN_TEST_TENSOR)

std::string eight_bits(const std::string& dtype = "bf16", const std::string& more = {}) {
  return precision(dtype, "products = \"fp8\"\n" + more);
}

std::vector<double> losses_of(const MeshAxes& mesh, const std::string& plan,
                              const std::vector<std::string>& arguments = {"heads=4", "clip=1"}) {
  const LoggedRun run = logged_run("gpt", manifest_of(mesh, plan), arguments, 20);
  EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
  return run.steps("loss");
}

void expect_near(const std::vector<double>& own, const std::vector<double>& other, double share) {
  ASSERT_EQ(own.size(), 20u);
  ASSERT_EQ(other.size(), own.size());
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], other[i], share * other[i]) << "step " << i + 1;
}

/// A number has 4 binary digits, a relative error of 2^-5 at most and of random sign: what is left of it in a loss that
/// falls by a third is far less.
TEST(Fp8Training, LearnsAsWellAsWithSixteenBits) {
  for (const std::string dtype : {"bf16", "fp16"}) {
    SCOPED_TRACE(dtype);
    const std::vector<double> narrow = losses_of({{"data", 1}}, eight_bits(dtype)),
                              wide = losses_of({{"data", 1}}, precision(dtype));
    expect_near(narrow, wide, 5e-3);
    EXPECT_NE(narrow, wide);
    EXPECT_LT(narrow.back(), narrow.front() - 1);
  }
}

struct Fp8Case {
  std::string name;
  MeshAxes mesh;
  std::string plan;
  std::string precision;
  std::vector<std::string> arguments = {"heads=4", "clip=1"};
};
void PrintTo(const Fp8Case& c, std::ostream* out) { *out << c.name; }

class Fp8Ranks : public testing::TestWithParam<Fp8Case> {};

/// Scales come from the largest numbers of all ranks and micro-batches, and are alike on all. Sums in 16 bits round
/// otherwise, which takes some numbers across a rounding to 8 bits.
TEST_P(Fp8Ranks, ComputeWhatOneRankComputes) {
  const Fp8Case& c = GetParam();
  const std::vector<double> one = losses_of({{"data", 1}}, c.precision, {"heads=4", "clip=1"});
  expect_near(losses_of(c.mesh, c.plan + c.precision, c.arguments), one, 2e-3);
}

std::vector<Fp8Case> fp8_cases() {
  const std::string data = plan_entry("data"), tensor = plan_entry("tensor", "mode = \"1d\"\n"),
                    zero3 = plan_entry("zero", "stage = 3\n");
  const std::vector<std::string> micro{"heads=4", "clip=1", "accumulate=2"};
  return {
      {"data2", {{"data", 2}}, data, eight_bits()},
      {"micro", {{"data", 1}}, "", eight_bits(), micro},
      {"data2_micro_fp16", {{"data", 2}}, data, eight_bits("fp16"), micro},
      {"data2_fp32_gradients", {{"data", 2}}, data, eight_bits("bf16", "gradients = \"fp32\"\n")},
      {"tensor2", {{"tensor", 2}}, tensor, eight_bits()},
      {"data2_tensor2_micro", {{"data", 2}, {"tensor", 2}}, data + tensor, eight_bits(), micro},
      {"zero3_micro", {{"data", 2}}, zero3, eight_bits(), micro},
#ifdef BALEEN_TEST_SEQUENCE
      {"sequence2", {{"sequence", 2}}, plan_entry("sequence", "mode = \"ring\"\n"), eight_bits()},
#endif
#ifdef BALEEN_TEST_PIPELINE
      {"pipeline2_micro", {{"pipeline", 2}}, plan_entry("pipeline"), eight_bits(), micro},
#endif
  };
}

INSTANTIATE_TEST_SUITE_P(Plans, Fp8Ranks, testing::ValuesIn(fp8_cases()),
                         [](const auto& info) { return info.param.name; });

/// Gradients are unscaled where they are made, so that their sums go on meanwhile, and largest numbers are found beside
/// the products, so that no tensor waits for that.
TEST(Fp8Plan, SendsMeanwhileAndHoldsWhatSixteenBitsDo) {
  const auto planned = [](const std::string& precision) {
    const std::string plan = plan_entry("data", "bucket_mb = 0\n") + precision;
    return plan_of("gpt", manifest_of({{"data", 2}}, plan), {"heads=4", "layers=6"}).classes.at(0);
  };
  const PlannedRanks narrow = planned(eight_bits()), wide = planned(precision("bf16"));
  // Of each of 6 layers' 4 products the weight, the input and the cotangent have a history of 1024 numbers; one number
  // says where in it a step is. Of two of the three each rank has a part, and an all_reduce of N ranks sends 2 (N -
  // 1)/N.
  constexpr double kProducts = 6 * 4, kNumber = 4, kRanks = 2;
  EXPECT_EQ(narrow.bytes("optimizer") - wide.bytes("optimizer"), kProducts * 3 * 1024 * kNumber);
  EXPECT_EQ(narrow.bytes("control") - wide.bytes("control"), kNumber);
  EXPECT_EQ(narrow.numbers.at("sent_bytes.all_reduce.data") - wide.numbers.at("sent_bytes.all_reduce.data"),
            kProducts * 2 * kNumber * 2 * (kRanks - 1) / kRanks);
  EXPECT_GE(narrow.sent_meanwhile, wide.sent_meanwhile);
  EXPECT_LT(narrow.numbers.at("working_bytes"), 1.1 * wide.numbers.at("working_bytes"));
}

/// Over micro-batches weights are cast once for both passes, and what they are cast from is not kept.
TEST(Fp8Plan, HoldsNoMoreThanSixteenBitsDoOverMicroBatches) {
  for (const std::string& plan : {plan_entry("data"), plan_entry("zero", "stage = 1\n")}) {
    SCOPED_TRACE(plan);
    const auto planned = [&](const std::string& precision) {
      const Planned all = plan_of("gpt", manifest_of({{"data", 2}}, plan + precision),
                                  {"heads=4", "layers=6", "dim=128", "accumulate=2"});
      EXPECT_EQ(all.exit_code, 0) << all.err;
      return all.classes.at(0);
    };
    const PlannedRanks narrow = planned(eight_bits("bf16", "fp8_history = 4\n")), wide = planned(precision("bf16"));
    EXPECT_LE(narrow.bytes("total"), wide.bytes("total"));
    EXPECT_LE(narrow.numbers.at("working_bytes"), wide.numbers.at("working_bytes")) << "weights in 8 bits are copies";
    EXPECT_LT(narrow.bytes("copies"), 0.8 * wide.bytes("copies"));
  }
}

/// What is summed in which order is the same in all three.
TEST(Fp8Training, StagesOfZeroAgreeBitForBit) {
  const auto run = [](int stage) {
    return losses_of({{"data", 2}}, plan_entry("zero", "stage = " + std::to_string(stage) + "\n") + eight_bits());
  };
  const std::vector<double> first = run(1);
  EXPECT_EQ(run(2), first);
  EXPECT_EQ(run(3), first);
}

class Fp8Resumed : public testing::TestWithParam<SplitWork> {};

/// Histories and their position are saved: step 6 has the scales that it has without the interruption.
TEST_P(Fp8Resumed, EndsInTheSameBits) { expect_same_bits_when_resumed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Plans, Fp8Resumed,
                         testing::Values(SplitWork{"One", {{"data", 1}}, eight_bits("bf16", "fp8_history = 4\n")},
                                         SplitWork{"Data", {{"data", 2}}, plan_entry("data") + eight_bits("fp16")}),
                         [](const auto& info) { return info.param.name; });

#endif

}  // namespace
}  // namespace baleen::test
