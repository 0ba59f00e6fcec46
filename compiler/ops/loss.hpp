/// \file What `cross_entropy` and `linear_cross_entropy` share.
#pragma once
#include "compiler/ops/builder.hpp"

namespace baleen::ops {

/// The attributes of all four kinds, and `more`.
Status check_loss_attributes(const std::string& kind, const Attributes& attributes,
                             std::vector<AttributeRule> more = {});

/// `ignore_index` and `smoothing` alone, to hand on.
Attributes loss_attributes(const Attributes& attributes);

/// `operands`: target and further ones, each with the shape of x without its last dimension.
Status check_loss_rows(const std::string& kind, const Named& x, const std::vector<Named>& operands);

/// The type of a loss per row: fp32 where x has 16 bits.
ValueType loss_row(const ValueType& x);

/// Numbers per row that a loss reduces inside when the vocabulary is cut: maximum, sum, the target's logit, and with
/// smoothing the logits' sum.
int loss_statistics(const Attributes& attributes);

}  // namespace baleen::ops
