/// \file Products of weights in 8 bits, with scales from the largest numbers of earlier steps: operands of the forward
/// pass in e4m3, cotangents in e5m2 (Micikevicius et al., "FP8 formats for deep learning", arXiv 2209.05433; delayed
/// scaling as NVIDIA's Transformer Engine documents it).
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "baleen/op_builder.hpp"
#include "baleen/strategy.hpp"

namespace baleen::precision {

using namespace sdk;

struct Fp8Options {
  bool on = false;
  std::int64_t history = 1024;    ///< steps whose largest numbers are kept
  std::int64_t margin = 0;        ///< powers of two that a scale stays below the largest possible one
  std::vector<std::string> keep;  ///< parameters whose products stay in 16 bits: '*' any text, '?' one character
};

/// Rewrites one train graph between differentiation and the update.
class Fp8 {
 public:
  /// `half`: what products read and make so far.
  Fp8(GraphView graph, Gradients gradients, const Fp8Options& options, baleen_dtype_t half)
      : graph_(graph), gradients_(gradients), options_(options), half_(half) {}

  /// Errors: a pattern of `keep` that stands for nothing; a graph without such products.
  Status check();
  /// Before the gradients are replaced.
  void rewrite();
  /// Enters this step's largest numbers. A step in which `applied` is 0 enters none; empty: all do.
  void update(const Value& applied);

 private:
  /// A tensor that products read in 8 bits.
  struct Tensor {
    std::string name;
    baleen_dtype_t dtype = BALEEN_E4M3;
    Value history, scale, inverse, largest;
    std::map<baleen_phase_t, baleen_value_t> quantised;  ///< by the phase that reads it; of activations one
  };

  Value value(baleen_value_t id) const { return {graph_.table(), id}; }
  void find_products();
  bool is_kept(baleen_value_t weight);
  baleen_value_t weight_of(baleen_value_t operand);
  bool is_product(baleen_op_t op);
  std::string name_of(baleen_op_t product, baleen_value_t operand, baleen_dtype_t dtype);
  Tensor& tensor(baleen_op_t product, baleen_value_t operand);
  void read_scale(Tensor& tensor);
  Value largest_of(baleen_value_t operand);
  baleen_value_t quantised(baleen_op_t product, baleen_value_t operand);
  void rewrite(baleen_op_t product);

  GraphView graph_;
  Gradients gradients_;
  const Fp8Options& options_;
  baleen_dtype_t half_;
  Value position_, counted_;           ///< of this step in the histories, and of the next
  std::vector<baleen_op_t> products_;  ///< of both passes, in order
  std::map<baleen_value_t, Tensor> tensors_;
  std::vector<baleen_value_t> order_;  ///< of `tensors_`, as products read them
  std::set<std::string> names_;
  std::map<baleen_value_t, baleen_value_t> replaced_;
};

/// Has ranks compare the largest numbers of all tensors in one call for each group of ranks: in `schedule`.
void coalesce_largest(GraphView graph, Scheduling scheduling);

}  // namespace baleen::precision
