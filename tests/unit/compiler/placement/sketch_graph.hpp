/// \file The prototype's GPT: forward, backward and update of the same ops with the same letters, so that its tables
/// hold to the byte.
#pragma once
#include <map>
#include <string>

#include "compiler/placement/placement.hpp"
#include "sketch_ops.hpp"

namespace baleen::test {

struct SketchModel {
  std::int64_t layers = 2, batch = 8, sequence = 16, hidden = 32, heads = 4, vocabulary = 64;
  bool tied = false, separate_qkv = false, parallel_block = false, bias = true, dropout = true, clip = true,
       adam = true;
  std::int64_t experts = 0, top_k = 2;
  double capacity = 1;
};

/// A parameter with all that belongs to it.
struct SketchParameter {
  std::string name;  ///< "l0.w1"
  ValueId value = kNone, gradient = kNone;
  std::vector<ValueId> states;

  std::string kind() const { return name.substr(name.rfind('.') + 1); }  ///< "w1"
};

/// Letters of a matmul y = x w, with the op and those of its gradients.
struct SketchMatmul {
  std::string x, w, y;
  std::vector<OpId> ops;
};

struct SketchGraph {
  Graph graph{&sketch_ops()};
  std::vector<SketchParameter> parameters;
  std::vector<std::pair<std::string, ValueId>> activations;  ///< "h", "embed_out"
  std::vector<SketchMatmul> matmuls;
  ValueId ids = kNone, labels = kNone, seed = kNone;

  explicit SketchGraph(const SketchModel& model);
};

}  // namespace baleen::test
