/// \file What cut layers send, against the textbooks' formulas: bytes per rank and step that programs of fp32
/// runs account for (parity.plan has those that a transport is given).
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tensor_run.hpp"

namespace baleen::test {
namespace {

/// Sizes of tests/parity/gpt.lua.
constexpr double kLayers = 2, kBatch = 8, kSequence = 12, kHidden = 24, kBytes = 4;

/// Numbers of each rank after one step whose names begin with `what`, by the rest of their names.
std::vector<std::map<std::string, double>> facts(const std::string& what, const std::string& script,
                                                 const std::string& manifest, int ranks,
                                                 const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  const ProcessResult result = run_parity({"run", "--steps", "1", "--log-json", log}, script, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::string whole = read_file(log);
  std::vector<std::map<std::string, double>> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string key = "\"rank." + std::to_string(rank) + "." + what + ".";
    for (std::size_t at = whole.find(key); at != std::string::npos; at = whole.find(key, at + 1)) {
      const std::size_t name = at + key.size(), end = whole.find('"', name);
      all[static_cast<std::size_t>(rank)][whole.substr(name, end - name)] = std::stod(whole.substr(end + 2));
    }
  }
  return all;
}

/// Bytes that each rank sent in one step, by "kind.axis".
std::vector<std::map<std::string, double>> sent(const std::string& script, const std::string& manifest, int ranks,
                                                const std::vector<std::string>& arguments) {
  return facts("sent_bytes", script, manifest, ranks, arguments);
}

std::string plan(const std::string& mode) { return "mode = \"" + mode + "\"\n"; }

/// Two all-reduces of b·s·h forward and two backward in each layer, one behind the embedding, one of the gradient that
/// the head gives; of the loss three numbers a token; and one number for the norm of all gradients. Nothing of the
/// logits' size.
TEST(TensorTraffic, InOneDimensionIsMegatrons) {
  for (const auto& [ranks, heads] : {std::pair{2, "heads=6"}, std::pair{4, "heads=4"}}) {
    const double share = 2.0 * (ranks - 1) / ranks * kBytes, tokens = kBatch * kSequence;
    const double expected = share * ((4 * kLayers + 2) * tokens * kHidden + 3 * tokens + 1);
    for (const auto& own : sent("gpt", tensor_manifest({{"tensor", ranks}}, plan("1d")), ranks, {heads})) {
      ASSERT_EQ(own.size(), 1u);
      EXPECT_NEAR(own.at("all_reduce.tensor"), expected, 16) << ranks;
    }
  }
}

/// An accumulated step sends what its micro-batches send, and the norm once.
TEST(TensorTraffic, InOneDimensionIsTheSameInMicroBatches) {
  const auto whole = sent("gpt", tensor_manifest({{"tensor", 2}}, plan("1d")), 2, {"heads=6"});
  const auto cut = sent("gpt", tensor_manifest({{"tensor", 2}}, plan("1d")), 2, {"heads=6", "accumulate=4"});
  for (std::size_t rank = 0; rank < 2; ++rank) EXPECT_EQ(whole[rank], cut[rank]);
}

/// Two layers of tests/parity/linear.lua: M x K times K x N.
struct Linear {
  double m, k, n;
  bool input_gradient;  ///< the first layer's input is data, and has none
};
const std::vector<Linear>& layers() {
  static const std::vector<Linear> both{{24, 16, 32, false}, {24, 32, 8, true}};
  return both;
}

double sum_of(const std::map<std::string, double>& rows, const std::vector<std::string>& kinds) {
  double sum = 0;
  for (const auto& [name, bytes] : rows)
    for (const std::string& kind : kinds)
      if (name.starts_with(kind + ".")) sum += bytes;
  return sum;
}

/// A second layer's partial results are summed forward; the norm of all gradients is one number more.
TEST(TensorTraffic, OfLinearLayersInOneDimension) {
  for (int t : {2, 4})
    for (const auto& own : sent("linear", tensor_manifest({{"tensor", t}}, plan("1d")), t, {})) {
      const double share = 2.0 * (t - 1) / t * kBytes;
      EXPECT_NEAR(sum_of(own, {"all_reduce"}), share * layers()[1].m * layers()[1].n, 2 * kBytes);
      EXPECT_EQ(own.size(), 1u);
    }
}

/// 3 (q - 1) (M K / d + K N) / q² in blocks, a third less without dX, and 2 (d - 1) / d · K N / q² for the weights'
/// gradients.
TEST(TensorTraffic, OfLinearLayersOnSquares) {
  for (const auto& [side, depth] : {std::pair{2, 1}, std::pair{4, 1}, std::pair{2, 2}}) {
    const double q = side, d = depth;
    double blocks = 0, gradients = 0;
    for (const Linear& l : layers()) {
      blocks += (l.input_gradient ? 3 : 2) * (q - 1) * (l.m * l.k / d + l.k * l.n) / (q * q) * kBytes;
      gradients += 2 * (d - 1) / d * l.k * l.n / (q * q) * kBytes;
    }
    const std::string manifest =
        tensor_manifest({{"tensor", side * side * depth}}, depth > 1 ? plan("2.5d") + "depth = 2\n" : plan("2d"));
    for (const auto& own : sent("linear", manifest, side * side * depth, {})) {
      EXPECT_EQ(sum_of(own, {"broadcast", "reduce"}), blocks) << side;
      if (depth > 1) {
        EXPECT_NEAR(own.at("all_reduce.tensor.depth"), gradients, 2 * kBytes);
      }
    }
  }
}

/// Weights are 1/t, 1/q² and 1/q³ on each rank, with their states.
TEST(TensorMemory, OfWeightsIsTheirShareExactly) {
  const double whole = (16 * 32 + 32 * 8) * kBytes;
  const std::tuple<std::string, int, int> modes[] = {
      {plan("1d"), 4, 4}, {plan("2d"), 4, 4}, {plan("2.5d") + "depth = 2\n", 8, 4}, {plan("3d"), 8, 8}};
  for (const auto& [options, ranks, parts] : modes)
    for (const auto& own : facts("planned_bytes", "linear", tensor_manifest({{"tensor", ranks}}, options), ranks, {})) {
      EXPECT_EQ(own.at("parameters"), whole / parts) << options;
      EXPECT_EQ(own.at("optimizer"), whole / parts) << options;
    }
}

/// (q - 1) (3 M K + 3 K N + 2 M N) / q³, operands gathered again in backward; without dX 2 M K + 2 K N + 2 M N.
TEST(TensorTraffic, OfLinearLayersOnACube) {
  double elements = 0;
  for (const Linear& l : layers()) elements += (l.input_gradient ? 3 : 2) * (l.m * l.k + l.k * l.n) + 2 * l.m * l.n;
  for (const auto& own : sent("linear", tensor_manifest({{"tensor", 8}}, plan("3d")), 8, {}))
    EXPECT_EQ(sum_of(own, {"all_gather", "reduce_scatter"}), elements / 8 * kBytes);
}

}  // namespace
}  // namespace baleen::test
