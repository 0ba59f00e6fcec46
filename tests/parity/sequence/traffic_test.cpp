/// \file What attention to a cut sequence sends, against the formulas: bytes per rank and step that programs of fp32
/// runs account for (parity.plan has those that a transport is given).
#include <gtest/gtest.h>

#include "sequence_run.hpp"

namespace baleen::test {
namespace {

/// Of tests/parity/gpt.lua, with 48 tokens.
constexpr double kLayers = 2, kBatch = 8, kSequence = 48, kHidden = 24, kBytes = 4, kVocabulary = 256;

std::vector<std::map<std::string, double>> sent(const PlanEntry& plan, int ranks,
                                                std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.end(), {"context=48", "heads=4"});
  return facts_of_ranks("sent_bytes.", {{"sequence", ranks}}, {plan}, arguments);
}

/// B·L·H elements of a layer, and its share for keys and values of fewer heads.
double of_layers(double share) { return kLayers * kBatch * kSequence * kHidden * kBytes * share; }

/// Keys and values travel forward and backward, their gradients backward: 6 (P - 1) / P · B·L·H (G / H of it where
/// heads are grouped).
TEST(SequenceTraffic, OfARing) {
  for (const int ranks : {2, 3, 4})
    for (const auto& own : sent(ring(), ranks))
      EXPECT_EQ(own.at("permute.sequence"), of_layers(6.0 * (ranks - 1) / ranks)) << ranks;
  for (const auto& own : sent(ring(), 2, {"kv_heads=1"})) EXPECT_EQ(own.at("permute.sequence"), of_layers(6.0 / 2 / 4));
}

/// Queries, keys, values and results change from tokens to heads or back, and so do their gradients: twice
/// 4 (P - 1) / P · B·L·H / P.
TEST(SequenceTraffic, OfAllToAll) {
  for (const int ranks : {2, 4})
    for (const auto& own : sent(ulysses(), ranks))
      EXPECT_EQ(own.at("all_to_all.sequence"), of_layers(8.0 * (ranks - 1) / ranks / ranks)) << ranks;
  for (const auto& own : sent(ulysses(), 2, {"kv_heads=2"}))
    EXPECT_EQ(own.at("all_to_all.sequence"), of_layers(6.0 / 2 / 2));
}

/// Megatron's: two reduce-scatters and two all-gathers of b·s·h in each layer forward and backward, and two all-gathers
/// more in backward, of what the column products read and only shards of which are kept: 10 (t - 1) / t · b·s·h. Behind
/// the embedding a reduce-scatter and its all-gather in backward; before the head an all-gather forward, and again
/// backward with a reduce-scatter.
TEST(SequenceTraffic, AroundTensorParallelLayersIsMegatrons) {
  if (!has_plugin("strategy", "tensor")) GTEST_SKIP() << "no strategy `tensor` in this tree";
  for (const int ranks : {2, 4}) {
    const double unit = 1.0 * (ranks - 1) / ranks * kBatch * kSequence * kHidden * kBytes;
    const auto all = facts_of_ranks("sent_bytes.", {{"tensor", ranks}}, {megatron()}, {"context=48", "heads=4"});
    for (const auto& own : all) {
      EXPECT_EQ(own.at("reduce_scatter.tensor"), unit * (4 * kLayers + 2)) << ranks;
      const double positions = 1.0 * (ranks - 1) / ranks * kSequence * kHidden * kBytes;
      EXPECT_EQ(own.at("all_gather.tensor"), unit * (6 * kLayers + 3) + positions) << ranks;
    }
  }
}

/// Beside attention, ranks only sum gradients and the loss. Of the positions each has the gradients of its own rows.
TEST(SequenceTraffic, BesideAttentionIsThatOfGradients) {
  const double norms = (2 * kLayers + 1) * 2 * kHidden;
  const double weights = kLayers * (12 * kHidden * kHidden + 9 * kHidden) + 2 * kVocabulary * kHidden;
  for (const PlanEntry& plan : {ring(), ulysses()})
    for (const int ranks : {2, 4})
      for (const auto& own : sent(plan, ranks)) {
        ASSERT_EQ(own.size(), 3u);
        EXPECT_NEAR(own.at("all_reduce.sequence"), 2.0 * (ranks - 1) / ranks * kBytes * (weights + norms + 1), 16);
        EXPECT_EQ(own.at("all_gather.sequence"), 1.0 * (ranks - 1) / ranks * kBytes * kSequence * kHidden);
      }
}

/// An accumulated step sends what its micro-batches send, and the gradients once.
TEST(SequenceTraffic, IsTheSameInMicroBatches) {
  for (const PlanEntry& plan : {ring(), ulysses()}) EXPECT_EQ(sent(plan, 2, {"accumulate=4"}), sent(plan, 2));
}

}  // namespace
}  // namespace baleen::test
