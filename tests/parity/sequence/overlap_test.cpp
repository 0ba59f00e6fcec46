/// \file What a ring sends next leaves before the attention that hides it: the order of ops, which calls follow.
#include <sstream>

#include "sequence_run.hpp"

namespace baleen::test {
namespace {

/// One letter for each op of `layer` after the last pass over the train graph: p permute, a attention, g its gradient.
std::string order_of(const std::string& layer, const std::vector<std::string>& arguments) {
  const std::string manifest = sequence_manifest({{"sequence", 4}}, {ring()});
  const ProcessResult result = run_parity({"run", "--steps", "1", "--print-passes"}, "gpt", manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::istringstream lines(result.out);
  std::string order;
  bool last_pass = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("--- ")) last_pass = line.starts_with("--- train: fuse pointwise");
    if (!last_pass || line.find("# " + layer + " ") == std::string::npos) continue;
    for (const auto& [kind, letter] :
         {std::pair{" = permute(", 'p'}, {" = attention(", 'a'}, {" = attention_grad(", 'g'}})
      if (line.find(kind) != std::string::npos) order += letter;
  }
  return order;
}

/// Four ranks: three hops of keys and values, the first beside the rank's own block. In backward the gradients of keys
/// follow a hop behind, and go home beside the rest of the own block, which under a mask is cut for that.
TEST(SequenceOverlap, WhatTravelsLeavesBeforeTheAttentionThatHidesIt) {
  EXPECT_EQ(order_of("blocks.0.attention", {"context=16"}),
            "ppa"
            "ppaa"
            "ppaa"
            "aa");
  EXPECT_EQ(order_of("blocks.0.attention.grad", {"context=16"}),
            "ppg"
            "ppgg"
            "ppppgg"
            "ppgg"
            "ppgg");
  EXPECT_EQ(order_of("blocks.1.attention", {"context=16", "bidirectional"}),
            "ppa"
            "ppa"
            "ppa"
            "a");
  EXPECT_EQ(order_of("blocks.1.attention.grad", {"context=16", "bidirectional"}),
            "ppg"
            "ppg"
            "ppppg"
            "ppg"
            "pp");
}

}  // namespace
}  // namespace baleen::test
