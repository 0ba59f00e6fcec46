/// \file What cut layers send, against the textbooks' formulas: bytes per rank and step of a real run, in fp32.
#include <gtest/gtest.h>

#include <map>

#include "tensor_run.hpp"

namespace baleen::test {
namespace {

/// Sizes of tests/parity/gpt.lua.
constexpr double kLayers = 2, kBatch = 8, kSequence = 12, kHidden = 24, kBytes = 4;

/// Bytes that each rank sent in one step, by "kind.axis".
std::vector<std::map<std::string, double>> sent(const std::string& script, const std::string& manifest, int ranks,
                                                const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  const ProcessResult result = run_tensor({"run", "--steps", "1", "--log-json", log}, script, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  const std::string whole = read_file(log);
  std::vector<std::map<std::string, double>> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string key = "\"rank." + std::to_string(rank) + ".sent_bytes.";
    for (std::size_t at = whole.find(key); at != std::string::npos; at = whole.find(key, at + 1)) {
      const std::size_t name = at + key.size(), end = whole.find('"', name);
      all[static_cast<std::size_t>(rank)][whole.substr(name, end - name)] = std::stod(whole.substr(end + 2));
    }
  }
  return all;
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

}  // namespace
}  // namespace baleen::test
