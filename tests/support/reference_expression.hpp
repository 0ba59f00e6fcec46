/// \file Evaluates expressions in fp64, one element at a time, by the definitions in baleen/expression.h.
#pragma once
#include <array>

#include "baleen/expression_builder.hpp"
#include "support/reference_tensor.hpp"

namespace baleen::test {

/// Which element of which step is computed.
struct Element {
  Coordinate coordinate;
  std::uint64_t number = 0;  ///< row-major in the global tensor
  std::uint64_t seed = 0, step = 0;
};

/// The value of every instruction; `inputs` by input number.
std::vector<double> evaluate(const Expression& expression, const std::vector<double>& inputs, const Element& element);

/// Philox4x32-10 of Salmon et al. 2011.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// `value` as the dtype would store it.
double rounded(double value, baleen_dtype_t dtype);

}  // namespace baleen::test
