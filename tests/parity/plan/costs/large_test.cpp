/// \file Plans of large models, as people train them: bytes of states and bytes sent by formula, and what planning
/// takes.
///
/// Model and symbols: closed_forms.hpp, with learned positions of s·h elements. E elements of a rank beside ZeRO:
/// (12Lh² + Vh + 7Lh)/t + (6L + 2 + s)h in 1d on t ranks. Parameters 4E (over N at stage 3), moments 8E/N. Sent along
/// `data`: 2 · 4E (N - 1)/N, at stage 3 once more what backward reads; along `tensor`: (t - 1)/t of 2 (4L + 2) bsh
/// elements and three numbers a token for the loss. In 16 bits what is sent has 2 bytes, parameters 4E/N and a copy of
/// 2E (over N at stage 3); all of norms stay as they are. What a layer keeps for the backward pass: closed_forms.hpp.
#include "parity/plan/planned.hpp"
#include "support/processor_time.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_TENSOR)

struct Large {
  const char* name;
  double layers, width, heads;
  int data, tensor, stage;
  bool mixed = false;  ///< in 16 bits
};

void PrintTo(const Large& one, std::ostream* out) { *out << one.name; }

class LargePlan : public ::testing::TestWithParam<Large> {};

constexpr double kVocabulary = 50304, kContext = 2048;

/// A plan is made in 10 s of one processor, and in 1 GiB: here the peak of the largest process so far.
Planned plan_in_time(const std::string& manifest, double layers, double width, double heads, double batch) {
  const auto word = [](const char* name, double number) {
    return std::string(name) + "=" + std::to_string(static_cast<long>(number));
  };
  const double before = processor_seconds(RUSAGE_CHILDREN);
  Planned planned =
      plan_of("plan/gpt_large", manifest + "[compute]\nmemory = 1000000000\n",
              {word("layers", layers), word("dim", width), word("heads", heads), word("context", kContext),
               word("batch", batch), "accumulate=1", "data=" + source_dir() + "/tests/golden/whales.txt"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_LT(processor_seconds(RUSAGE_CHILDREN) - before, 10);
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  EXPECT_LT(used.ru_maxrss, 1 << 20) << "KiB";
  return planned;
}

double sent_along(const PlannedRanks& one, const std::string& axis) {
  double bytes = 0;
  for (const auto& [key, number] : one.numbers)
    if (key.starts_with("sent_bytes.") && key.ends_with("." + axis)) bytes += number;
  return bytes;
}

TEST_P(LargePlan, HoldsAndSendsWhatTheFormulasSay) {
  const Large& c = GetParam();
  const Planned planned =
      plan_in_time(manifest_of({{"data", c.data}, {"tensor", c.tensor}},
                               "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(c.stage) +
                                   "\n[[plan]]\nstrategy = \"tensor\"\n" +
                                   (c.mixed ? "[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n" : "")),
                   c.layers, c.width, c.heads, c.data);
  const double l = c.layers, h = c.width, t = c.tensor, n = c.data, z = c.stage == 3 ? n : 1, bytes = c.mixed ? 2 : 4;
  const double read_again = (12 * l * h * h + kVocabulary * h) / t;  // weights; the rest is less than 0.1 % of them
  const double cast = read_again + 7 * l * h / t + (2 * l + kContext) * h, norms = (4 * l + 2) * h;
  const double gradients = bytes * cast + 4 * norms;
  const double along_data = (n - 1) / n * (2 * gradients + (c.stage == 3 ? bytes * read_again : 0));
  const double along_tensor = 2 * (t - 1) / t * (bytes * (4 * l + 2) * kContext * h + 4 * 3 * kContext);
  const double rows = 4 + c.heads / t, kept = l * kContext * (bytes * (4 + 12 / t) * h + 4 * rows);
  for (const PlannedRanks& one : planned.classes) {
    EXPECT_NEAR(one.bytes("parameters") / (4 * cast / (c.mixed ? n : z) + 4 * norms / z), 1, 0.01);
    EXPECT_NEAR(one.bytes("optimizer") / (8 * (cast + norms) / n), 1, 0.01);
    if (c.mixed && c.stage < 3) {
      EXPECT_NEAR(one.bytes("copies") / (2 * cast), 1, 0.01);
    }
    // No program holds more at once than what waits for the backward pass; the one that draws the first values did.
    EXPECT_LT(one.bytes("activations") / kept, 1.1);
    EXPECT_NEAR(sent_along(one, "data") / along_data, 1, 0.01);
    EXPECT_NEAR(sent_along(one, "tensor") / along_tensor, 1, 0.01);
  }
}

/// GPT-3 with shards over both axes of a mesh, in either order: each rank holds one of 1,024.
TEST(LargePlanOverTwoAxes, IsMadeInTimeInEitherOrder) {
  if (!has_plugin("strategy", "sequence")) GTEST_SKIP() << "no strategy `sequence` in this tree";
  constexpr double kLayers = 96, kWidth = 12288, kRanks = 1024;
  const std::string plan =
      "[[plan]]\nstrategy = \"zero\"\nstage = 3\nextra_axes = \"sequence\"\n[[plan]]\nstrategy = \"sequence\"\n";
  for (const MeshAxes& mesh : {MeshAxes{{"data", 128}, {"sequence", 8}}, MeshAxes{{"sequence", 8}, {"data", 128}}}) {
    SCOPED_TRACE(mesh.front().first + " first");
    const Planned planned = plan_in_time(manifest_of(mesh, plan), kLayers, kWidth, 96, 128);
    const double held = 12 * kLayers * kWidth * kWidth + (kVocabulary + kContext) * kWidth + 13 * kLayers * kWidth;
    for (const PlannedRanks& one : planned.classes) {
      EXPECT_NEAR(one.bytes("parameters") / (4 * held / kRanks), 1, 0.01);
      EXPECT_NEAR(one.bytes("optimizer") / (8 * held / kRanks), 1, 0.01);
    }
  }
}

// GPTs of Narayanan et al., arXiv 2104.04473, table 1 (7.5, 175 and 1,008 billion parameters).
INSTANTIATE_TEST_SUITE_P(Models, LargePlan,
                         ::testing::Values(Large{"of_7B_8x8_zero1", 36, 4096, 32, 8, 8, 1},
                                           Large{"gpt3_128x8_zero1", 96, 12288, 96, 128, 8, 1},
                                           Large{"gpt3_128x8_zero2", 96, 12288, 96, 128, 8, 2},
                                           Large{"gpt3_128x8_zero3", 96, 12288, 96, 128, 8, 3},
                                           Large{"of_1T_64x8_zero1", 128, 25600, 160, 64, 8, 1},
                                           Large{"of_7B_8x8_zero1_bf16", 36, 4096, 32, 8, 8, 1, true},
                                           Large{"gpt3_128x8_zero1_bf16", 96, 12288, 96, 128, 8, 1, true},
                                           Large{"gpt3_128x8_zero2_bf16", 96, 12288, 96, 128, 8, 2, true},
                                           Large{"gpt3_128x8_zero3_bf16", 96, 12288, 96, 128, 8, 3, true},
                                           Large{"of_1T_64x8_zero1_bf16", 128, 25600, 160, 64, 8, 1, true}),
                         [](const auto& info) { return std::string(info.param.name); });

#endif

}  // namespace
}  // namespace baleen::test
