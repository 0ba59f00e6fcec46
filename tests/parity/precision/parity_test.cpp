/// \file With 16 bits, N ranks compute what one rank computes, but for the order in which terms are rounded: losses of
/// twenty steps within a bound, and bit for bit where no sum is cut.
#include <cmath>

#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA) && defined(BALEEN_TEST_TENSOR)

struct Case {
  std::string name;
  MeshAxes mesh;
  std::string plan;
  std::string precision;
  std::vector<std::string> arguments = {};
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::string zero(int stage, const std::string& options = {}) {
  return plan_entry("zero", "stage = " + std::to_string(stage) + "\n" + options);
}

std::vector<double> losses(const Case& c, bool alone) {
  const std::string manifest =
      alone ? manifest_of({{"data", 1}}, c.precision) : manifest_of(c.mesh, c.plan + c.precision);
  const LoggedRun run = logged_run("gpt", manifest, c.arguments, 20);
  EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
  return run.steps("loss");
}

class PrecisionParity : public ::testing::TestWithParam<Case> {};

/// A sum over ranks of terms in 16 bits differs from the sum over one rank by a rounding of 2^-9 (bf16) or 2^-12 (fp16)
/// per term, in gradients and, along `tensor`, in activations; what twenty steps make of it in the loss is far less.
TEST_P(PrecisionParity, RanksComputeWhatOneRankComputes) {
  const Case& c = GetParam();
  const std::vector<double> many = losses(c, false), one = losses(c, true);
  ASSERT_EQ(many.size(), 20u);
  ASSERT_EQ(one.size(), 20u);
  const double bound = c.precision.find("bf16") != std::string::npos ? 2e-3 : 5e-4;
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], bound * one[i]) << "step " << i + 1;
  EXPECT_LT(one.back(), one.front() - 1);
}

std::vector<Case> cases() {
  const std::string data = plan_entry("data"), tensor = plan_entry("tensor", "mode = \"1d\"\n"),
                    mode_2d = plan_entry("tensor", "mode = \"2d\"\n"),
                    mode_3d = plan_entry("tensor", "mode = \"3d\"\n"),
                    ring = plan_entry("sequence", "mode = \"ring\"\n");
  const std::string bf16 = precision("bf16"), fp16 = precision("fp16"),
                    wide = precision("bf16", "gradients = \"fp32\"\n");
  const std::vector<std::string> micro{"heads=4", "accumulate=2", "clip=1"};
  return {
      {"data2_bf16", {{"data", 2}}, data, bf16, {"heads=4", "clip=1", "dropout=0.1"}},
      {"data4_fp16_micro", {{"data", 4}}, data, fp16, micro},
      {"data2_fp32_gradients", {{"data", 2}}, data, wide, micro},
      {"zero1_bf16", {{"data", 2}}, zero(1), bf16, {"heads=4", "clip=1"}},
      {"zero1_fp16_micro", {{"data", 4}}, zero(1), fp16, micro},
      {"zero2_fp16", {{"data", 2}}, zero(2), fp16, {"heads=4", "tied=true"}},
      {"zero2_fp32_gradients_micro", {{"data", 4}}, zero(2), wide, micro},
      {"zero3_bf16_micro", {{"data", 4}}, zero(3, "bucket_mb = 0.02\n"), bf16, micro},
      {"zero3_fp16_lamb", {{"data", 2}}, zero(3), fp16, {"heads=4", "optimizer=lamb", "lr=0.1"}},
      {"tensor2_bf16", {{"tensor", 2}}, tensor, bf16, micro},
      {"tensor2_fp32_gradients", {{"tensor", 2}}, tensor, wide, {"heads=4"}},
      {"data2_tensor2_fp16", {{"data", 2}, {"tensor", 2}}, data + tensor, fp16, micro},
      {"tensor4_2d_bf16", {{"tensor", 4}}, mode_2d, bf16, micro},
      {"tensor4_2d_fp32_gradients", {{"tensor", 4}}, mode_2d, wide, {"heads=4"}},
      {"tensor8_25d_bf16", {{"tensor", 8}}, plan_entry("tensor", "mode = \"2.5d\"\ndepth = 2\n"), bf16, {"heads=4"}},
      {"tensor8_3d_fp16", {{"tensor", 8}}, mode_3d, fp16, {"heads=4"}},
      {"data2_tensor4_2d_fp16", {{"data", 2}, {"tensor", 4}}, data + mode_2d, fp16, micro},
      {"tensor4_2d_kept_tied",
       {{"tensor", 4}},
       mode_2d,
       precision("bf16", "keep = [\"*.up.*\"]\n"),
       {"heads=4", "tied=true"}},
      {"tensor4_2d_padded_fp16", {{"tensor", 4}}, mode_2d, fp16, {"context=11", "hidden=37"}},
      {"tensor8_3d_micro_bf16", {{"tensor", 8}}, mode_3d, bf16, {"heads=4", "accumulate=2", "clip=1", "tied=true"}},
      {"zero3_tensor4_2d_bf16", {{"data", 2}, {"tensor", 4}}, zero(3) + mode_2d, bf16, micro},
      {"data2_tensor2_kept",
       {{"data", 2}, {"tensor", 2}},
       zero(3) + tensor,
       precision("bf16", "keep = [\"head.*\", \"*.up.*\"]\n"),
       micro},
#ifdef BALEEN_TEST_SEQUENCE
      {"sequence2_ring_bf16", {{"sequence", 2}}, ring, bf16, {"heads=4"}},
      {"sequence4_ring_documents_fp16", {{"sequence", 4}}, ring, fp16, {"context=16", "documents", "kv_heads=1"}},
      {"sequence3_ring_bidirectional_bf16", {{"sequence", 3}}, ring, bf16, {"bidirectional"}},
      {"sequence2_ring_tensor4_2d_bf16", {{"sequence", 2}, {"tensor", 4}}, ring + mode_2d, bf16, {"heads=4"}},
      {"tensor2_megatron_fp16", {{"tensor", 2}}, tensor + plan_entry("sequence", "mode = \"megatron\"\n"), fp16, micro},
      {"data2_sequence2_ring_fp16", {{"data", 2}, {"sequence", 2}}, data + ring, fp16, micro},
      {"sequence2_ulysses_fp16", {{"sequence", 2}}, plan_entry("sequence", "mode = \"ulysses\"\n"), fp16, {"heads=4"}},
#endif
  };
}

INSTANTIATE_TEST_SUITE_P(Plans, PrecisionParity, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

/// A step of SGD is as large as the gradient: a scale that is not taken off again, or a mean that is taken twice, is no
/// smaller a step of AdamW or LAMB. Against fp32 on one rank, which `precision` has no part in.
TEST(PrecisionParity, StepsOfSgdAreAsLargeAsThoseOfFp32) {
  const auto run = [](int ranks, const std::string& plan, const std::string& clip) {
    const LoggedRun run = logged_run("gpt", manifest_of({{"data", ranks}}, plan),
                                     {"heads=4", "optimizer=sgd", "lr=0.2", "accumulate=2", clip}, 20);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
    return run.steps("loss");
  };
  for (const std::string clip : {"clip=0", "clip=0.5"}) {
    const std::vector<double> wide = run(1, "", clip);
    ASSERT_EQ(wide.size(), 20u);
    EXPECT_LT(wide.back(), wide.front() - 1) << "too short a way to tell steps of another size";
    for (const auto& [dtype, bound] : {std::pair{"bf16", 4e-3}, std::pair{"fp16", 1e-3}})
      for (const std::string& plan : {plan_entry("data"), zero(2)}) {
        SCOPED_TRACE(plan + dtype + ", " + clip);
        const std::vector<double> many = run(2, plan + precision(dtype), clip);
        ASSERT_EQ(many.size(), wide.size());
        for (std::size_t i = 0; i < wide.size(); ++i)
          EXPECT_NEAR(many[i], wide[i], bound * wide[i]) << "step " << i + 1;
      }
  }
}

/// A parameter that is a single number has a compute copy, and no shards.
TEST(PrecisionParity, HoldsForASingleNumber) {
  const auto run = [](int ranks, const std::string& plan) {
    const LoggedRun run = logged_run("zero/scalar", manifest_of({{"data", ranks}}, plan + precision("fp16")), {}, 20);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
    return run.steps("loss");
  };
  const std::vector<double> one = run(1, "");
  ASSERT_EQ(one.size(), 20u);
  for (int stage : {1, 2, 3}) {
    const std::vector<double> many = run(3, zero(stage));
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 5e-4 * one[i]) << "step " << i + 1;
  }
}

/// A weight that `tensor` leaves alone, since another weight multiplies it: its compute copy is gathered once by
/// `zero`, and cut by products as they like.
TEST(PrecisionParity, HoldsForAWeightThatNoModeCuts) {
  const auto run = [](const MeshAxes& mesh, const std::string& plan) {
    const LoggedRun run = logged_run("tensor/products", manifest_of(mesh, plan + precision("fp16")), {}, 10);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
    return run.steps("loss");
  };
  const std::vector<double> one = run({{"data", 1}}, "");
  ASSERT_EQ(one.size(), 10u);
  for (int stage : {1, 3}) {
    const std::string plan = zero(stage) + plan_entry("tensor", "mode = \"2d\"\n");
    const std::vector<double> many = run({{"data", 2}, {"tensor", 4}}, plan);
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 2e-3 * one[i]) << "step " << i + 1;
  }
}

/// What a script lays out by hand it lays out of the compute copies too.
TEST(PrecisionParity, HoldsForLayoutsOfTheScript) {
  const auto run = [](int ranks, const std::string& dtype) {
    const LoggedRun run = logged_run("annotated_gpt", manifest_of({{"tensor", ranks}}, precision(dtype)), {}, 20);
    EXPECT_EQ(run.result.exit_code, 0) << run.result.out << run.result.err;
    return run.steps("loss");
  };
  for (const auto& [dtype, bound] : {std::pair{"bf16", 2e-3}, std::pair{"fp16", 5e-4}}) {
    const std::vector<double> many = run(2, dtype), one = run(1, dtype);
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], bound * one[i]) << "step " << i + 1;
    EXPECT_LT(one.back(), one.front() - 1);
  }
}

/// What is summed in which order is the same in all three: only where it is kept differs.
TEST(PrecisionParity, StagesOfZeroAgreeBitForBit) {
  const auto run = [](int stage) {
    return losses({"", {{"data", 2}}, zero(stage), precision("bf16"), {"heads=4", "clip=1"}}, false);
  };
  const std::vector<double> first = run(1);
  EXPECT_EQ(run(2), first);
  EXPECT_EQ(run(3), first);
}

#endif

}  // namespace
}  // namespace baleen::test
