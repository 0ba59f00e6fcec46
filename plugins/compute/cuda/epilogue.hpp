/// \file Expressions that cuBLASLt computes in a product's last step.
#pragma once
#include <optional>
#include <span>

#include "baleen/expression.h"
#include "kernel.hpp"

namespace baleen::cuda {

/// What the expression does to the product. Numbers are of the pointwise op's inputs and outputs.
struct Epilogue {
  enum class Kind {
    kBias,      ///< product + bias
    kGelu,      ///< gelu_tanh(product + bias), and product + bias where `sum` is an output
    kGeluGrad,  ///< product * gelu_tanh'(x)
  };
  Kind kind = Kind::kBias;
  std::uint32_t other = 0;  ///< the input that is the bias, or x
  std::size_t result = 0;
  std::optional<std::size_t> sum;
};

/// Nothing where the expression is none of these.
std::optional<Epilogue> recognize(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                                  std::uint32_t product);

/// Whether `bias`, an input of an op whose output is y, lies packed along the dimensions of y that `spec` names on one
/// side alone, and is the same along all others. `of_b`: the side is b's, else a's.
bool is_vector_along(const Operand& bias, const Operand& y, std::string_view spec, bool of_b);

/// A matmul and its pointwise neighbour, whose operands and results have the product's dtype; false for all other
/// regions. The product's operands have it too, or 16 bits where it is fp32.
bool is_fused_product(const baleen_region_t& region);

}  // namespace baleen::cuda
