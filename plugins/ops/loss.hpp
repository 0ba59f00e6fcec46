/// \file What `cross_entropy` and `linear_cross_entropy` share.
#pragma once
#include "baleen/op_builder.hpp"
#include "baleen/op_kind.hpp"

namespace baleen::ops {

using namespace sdk;

/// Kinds of losses of rows of logits against class ids.
class LossKind : public sdk::OpKind {
 protected:
  LossKind(std::string name, std::string help, baleen_kind_traits_t more = 0)
      : OpKind(std::move(name), std::move(help), BALEEN_KIND_PURE | BALEEN_KIND_SENSITIVE | more) {
    optional_attribute(BALEEN_RULE_INTEGER, "ignore_index", "rows with this target give 0");
    optional_attribute(BALEEN_RULE_NUMBER, "smoothing", "how much of the target's weight all classes share", 0, 1);
  }
  /// The results of the forward kinds.
  void rows_of_results() {
    result("loss", "-log softmax(logits)[target] of each row; of 16 bits in fp32");
    result("lse", "log sum exp of each row's logits", BALEEN_RESULT_INTERNAL);
  }

  static double smoothing(const Op& op) { return op.number("smoothing", 0); }
  /// `ignore_index` and `smoothing` alone, to hand on.
  static AttributeList attributes_of(const Op& op) {
    return AttributeList().take(op, "ignore_index").take(op, "smoothing");
  }
  /// Numbers per row that a loss reduces inside when the vocabulary is cut: maximum, sum, the target's logit, and with
  /// smoothing the logits' sum.
  static int statistics(const Op& op) { return smoothing(op) > 0 ? 4 : 3; }

  /// The operands from `first` on, each with the shape of x without its last dimension.
  static Status check_rows(const std::string& kind, const sdk::InferInput& input,
                           std::initializer_list<const char*> names, std::size_t first) {
    const sdk::ValueType& x = input.type(0);
    const sdk::Shape rows = sdk::without_last(x).shape;
    for (const char* name : names) BALEEN_TRY(sdk::check_shape(kind, {name, input.type(first++)}, rows, {"x", x}));
    return {};
  }
  /// The type of a loss per row: fp32 where x has 16 bits.
  static sdk::ValueType row(const sdk::ValueType& x) { return sdk::same_but(sdk::without_last(x), sdk::wide(x.dtype)); }
};

}  // namespace baleen::ops
