/// \file A small GPT of the product's own ops, in fp64: forward, backward by the kinds' gradient rules, clipping, and
/// an update.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "compiler/placement/placement.hpp"

namespace baleen::test {

struct GptModel {
  std::int64_t layers = 2, batch = 4, sequence = 4, hidden = 8, heads = 4, vocabulary = 12;
  std::int64_t kv_heads = 4;
  bool tied = false, dropout = true, bias = true, masked = true, fused_loss = false, rms = false;
};

struct GptGraph {
  Graph graph;
  std::vector<TrainedParameter> trained;
  std::vector<ValueId> inputs;                      ///< "tokens", "target"
  std::vector<ValueId> residuals;                   ///< the stream between the layers
  std::map<std::string, std::vector<double>> data;  ///< random numbers for every source

  explicit GptGraph(const GptModel& model, std::uint64_t seed = 1);

  /// "wq" of "layer1.wq".
  static std::string kind(const std::string& name) { return name.substr(name.rfind('.') + 1); }
};

}  // namespace baleen::test
