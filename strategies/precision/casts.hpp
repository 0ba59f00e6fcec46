/// \file Where the forward graph computes in 16 bits: casts in front of products, dtypes of what flows between them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "baleen/strategy.hpp"

namespace baleen::precision {

using namespace sdk;

struct CastOptions {
  baleen_dtype_t dtype = BALEEN_BF16;
  std::vector<std::string> keep;  ///< parameters that stay fp32: '*' any text, '?' one character
};

/// Rewrites one forward graph of fp32.
class Casts {
 public:
  Casts(GraphView graph, const CastOptions& options) : graph_(graph), options_(options) {}

  /// Errors: what was cast before; a pattern of `keep` that stands for nothing.
  Status check() const;
  void run();

 private:
  /// What is known of a floating value of fp32.
  struct Fact {
    bool kept = false;    ///< a kept parameter, or a view of one
    bool strong = false;  ///< has its digits from inputs, norms or sums: what is computed with it stays fp32
  };
  using Values = std::vector<baleen_value_t>;

  Status check_wide() const;
  Status check_kept() const;
  void visit(baleen_op_t op);
  void visit_view(baleen_op_t op, Values inputs, const Values& outputs);
  void visit_product(baleen_op_t op, Values inputs, const Values& outputs);
  void visit_pointwise(baleen_op_t op, Values inputs, const Values& outputs);
  void visit_other(baleen_op_t op, Values inputs, const Values& outputs, bool sum);

  baleen_dtype_t dtype(baleen_value_t v) const { return graph_.value(v).dtype; }
  bool is_wide(baleen_value_t v) const { return dtype(v) == BALEEN_F32; }
  bool is_half(baleen_value_t v) const { return dtype(v) == options_.dtype; }
  bool is_kept_parameter(const baleen_value_info_t& value) const;
  bool wants_form(baleen_value_t v) const;
  baleen_value_t in_half(baleen_value_t v);
  void halve(Values& inputs);
  void mark_strong(const Values& outputs);

  GraphView graph_;
  const CastOptions& options_;
  std::map<baleen_value_t, Fact> facts_;
  std::map<baleen_value_t, baleen_value_t> halves_;  ///< casts by what they cast
};

}  // namespace baleen::precision
