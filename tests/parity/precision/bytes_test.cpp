/// \file Bytes of model states and bytes sent, of a GPT of 7.5 billion parameters, against the published table of ZeRO
/// (Rajbhandari et al., arXiv 1910.02054): 2Ψ + 2Ψ + 12Ψ bytes, and 2Ψ more with gradients of fp32.
#include <cmath>

#include "parity/plan/planned.hpp"
#include "parity/precision/precision_run.hpp"

namespace baleen::test {
namespace {

#if defined(BALEEN_TEST_ZERO) && defined(BALEEN_TEST_DATA)

constexpr double kLayers = 36, kWidth = 4096, kVocabulary = 50304, kContext = 1024;
/// Weights and biases of the norms, which stay fp32: 4 + 4 + 8 bytes, which are 16 as well.
constexpr double kNorms = (2 * kLayers + 1) * 2 * kWidth;
/// Narayanan et al., arXiv 2104.04473, written out: all others.
constexpr double kCast = kLayers * (12 * kWidth * kWidth + 9 * kWidth) + (kVocabulary + kContext) * kWidth;

/// The copies of a rank that holds one of `parts` parts of each: working memory, which begins at multiples of a cache
/// line. A layer's weights and biases of queries, keys and values are one, then come those of the output and of the
/// mlp.
double bytes_of_copies(int parts) {
  const auto sum = [&](std::initializer_list<double> elements) {
    double bytes = 0;
    for (const double n : elements) bytes += 64 * std::ceil(2 * std::ceil(n / parts) / 64);
    return bytes;
  };
  constexpr double kSquare = kWidth * kWidth;
  return kLayers * sum({3 * kSquare, kSquare, 4 * kSquare, 4 * kSquare, 3 * kWidth, kWidth, 4 * kWidth, kWidth}) +
         sum({kVocabulary * kWidth, kContext * kWidth});
}

Planned plan_large(int ranks, int stage, const std::string& gradients) {
  const std::string plan =
      stage == 0 ? plan_entry("data") : plan_entry("zero", "stage = " + std::to_string(stage) + "\n");
  const std::string memory = "[compute]\nmemory = 1000000000\n";  // MiB, of the host that all ranks share
  return plan_of(
      "plan/gpt_large",
      manifest_of({{"data", ranks}}, plan + precision("bf16", "gradients = \"" + gradients + "\"\n")) + memory,
      {"data=" + source_dir() + "/tests/golden/whales.txt"});
}

class PrecisionTable : public ::testing::TestWithParam<std::tuple<int, std::string>> {};

TEST_P(PrecisionTable, HoldsWhatTheFormulaSays) {
  const auto& [stage, gradients] = GetParam();
  const double gradient = gradients == "same" ? 2 : 4;
  for (const int ranks : {4, 64, 1024}) {
    SCOPED_TRACE(ranks);
    const Planned planned = plan_large(ranks, stage, gradients);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    ASSERT_EQ(planned.parameters, kCast + kNorms);
    const PlannedRanks& one = planned.classes.at(0);
    const auto cut = [&, stage = stage](int from) { return stage >= from ? 1.0 / ranks : 1.0; };
    // The fp32 parameter is a state like Adam's two: K = 12.
    EXPECT_EQ(one.bytes("parameters"), 4 * kCast * cut(1) + 4 * kNorms * cut(3));
    EXPECT_EQ(one.bytes("optimizer"), 8 * (kCast + kNorms) * cut(1));
    EXPECT_EQ(one.bytes("copies"), bytes_of_copies(stage == 3 ? ranks : 1));
    EXPECT_NEAR(one.bytes("copies"), 2 * kCast * cut(3), 1e-3 * kCast * cut(3));
    // Stage 1 adds up whole gradients, and leaves shards: no one number.
    if (stage != 1) {
      EXPECT_EQ(one.numbers.at("held_gradients_bytes"), (gradient * kCast + 4 * kNorms) * cut(2));
      const double states = one.bytes("parameters") + one.bytes("optimizer") + one.bytes("copies") +
                            one.numbers.at("held_gradients_bytes");
      const double parameters = kCast + kNorms, all = 14 + gradient;
      const double formula = stage == 0   ? all * parameters
                             : stage == 2 ? 2 * parameters + (all - 2) * parameters / ranks
                                          : all * parameters / ranks;
      EXPECT_NEAR(states, formula, 16 * kNorms) << "but for the norms";
    }
  }
}

/// Elements sent are those of the table in fp32; each has 2 bytes, a gradient of fp32 has 4.
TEST_P(PrecisionTable, SendsSixteenBits) {
  const auto& [stage, gradients] = GetParam();
  const double gradient = gradients == "same" ? 2 : 4;
  const int ranks = 4, micro = 2;
  const Planned planned = plan_large(ranks, stage, gradients);
  const PlannedRanks& one = planned.classes.at(0);
  const double part = (ranks - 1.0) / ranks;
  const auto sent = [&](const char* kind) {
    const auto found = one.numbers.find("sent_bytes." + std::string(kind) + ".data");
    return found == one.numbers.end() ? 0 : found->second;
  };
  const double summed = (gradient * kCast + 4 * kNorms) * part;
  if (stage == 0) {
    EXPECT_NEAR(sent("all_reduce"), 2 * summed, 64) << "and the loss";
    EXPECT_EQ(sent("all_gather"), 0);
    return;
  }
  EXPECT_EQ(sent("reduce_scatter"), summed * (stage == 1 ? 1 : micro));
  if (stage < 3) {
    EXPECT_EQ(sent("all_gather"), (2 * kCast + 4 * kNorms) * part);
  }
}

INSTANTIATE_TEST_SUITE_P(Stages, PrecisionTable,
                         ::testing::Combine(::testing::Values(0, 1, 2, 3), ::testing::Values("same", "fp32")),
                         [](const auto& info) {
                           return "stage" + std::to_string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

#endif

#if defined(BALEEN_TEST_TENSOR) && defined(BALEEN_TEST_SEQUENCE)

struct Beside {
  std::string name;
  MeshAxes mesh;
  std::string plan;
  std::vector<std::string> halved;  ///< what moves products' operands and results alone
};

void PrintTo(const Beside& beside, std::ostream* out) { *out << beside.name; }

class PrecisionBeside : public ::testing::TestWithParam<Beside> {};

/// Blocks of grids and keys of rings travel in 16 bits; what a rank stores lies as it does without `precision`.
TEST_P(PrecisionBeside, MovesHalfTheBytesAndStoresTheSame) {
  const Beside& c = GetParam();
  const auto plan = [&](const std::string& more) {
    return plan_of("gpt", manifest_of(c.mesh, c.plan + more), {"heads=4", "dim=48", "context=16"});
  };
  const Planned wide = plan(""), half = plan(precision("bf16"));
  ASSERT_EQ(half.exit_code, 0) << half.err;
  ASSERT_EQ(half.classes.size(), wide.classes.size());
  for (std::size_t i = 0; i < wide.classes.size(); ++i) {
    for (const std::string& key : c.halved)
      EXPECT_EQ(2 * half.classes[i].numbers.at("sent_bytes." + key), wide.classes[i].numbers.at("sent_bytes." + key))
          << key;
    for (const char* kind : {"parameters", "optimizer"})
      EXPECT_EQ(half.classes[i].bytes(kind), wide.classes[i].bytes(kind)) << kind;
  }
}

std::vector<Beside> beside() {
  const auto tensor = [](const std::string& options) { return plan_entry("tensor", options); };
  const std::vector<std::string> blocks{"broadcast.tensor.row", "broadcast.tensor.col", "reduce.tensor.row",
                                        "reduce.tensor.col"};
  return {{"tensor_2d", {{"tensor", 4}}, tensor("mode = \"2d\"\n"), blocks},
          {"tensor_25d", {{"tensor", 8}}, tensor("mode = \"2.5d\"\ndepth = 2\n"), blocks},
          {"tensor_3d",
           {{"tensor", 8}},
           tensor("mode = \"3d\"\n"),
           {"all_gather.tensor.depth", "all_gather.tensor.col", "reduce_scatter.tensor.depth",
            "reduce_scatter.tensor.row", "reduce_scatter.tensor.col"}},
          {"ring", {{"sequence", 4}}, plan_entry("sequence", "mode = \"ring\"\n"), {"permute.sequence"}},
          {"ulysses", {{"sequence", 4}}, plan_entry("sequence", "mode = \"ulysses\"\n"), {"all_to_all.sequence"}}};
}

INSTANTIATE_TEST_SUITE_P(Plans, PrecisionBeside, ::testing::ValuesIn(beside()),
                         [](const auto& info) { return info.param.name; });

#endif

}  // namespace
}  // namespace baleen::test
