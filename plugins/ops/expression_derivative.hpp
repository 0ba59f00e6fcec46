/// \file Derivatives of expressions.
#pragma once
#include <cstdint>

#include "baleen/expression_builder.hpp"

namespace baleen::ops {

/// d(result)/d(input), times the cotangent which is read as input number `cotangent`, for one result. Appends to `out`,
/// which reads the same inputs as `forward`. Returns the instruction's number, or -1 if the derivative is zero
/// everywhere.
std::int64_t differentiate(const Expression& forward, std::uint32_t result, std::uint32_t input,
                           std::uint32_t cotangent, Expression& out);

}  // namespace baleen::ops
