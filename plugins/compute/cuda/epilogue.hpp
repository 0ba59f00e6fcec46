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

/// Nothing where the expression is none of these, on operands of dtype `type`.
std::optional<Epilogue> recognize(std::span<const baleen_instruction_t> code, std::span<const std::int64_t> results,
                                  std::uint32_t product, baleen_dtype_t type);

/// Whether `bias`, an input of an op whose output is y, lies packed along the dimensions of y that `spec` names on one
/// side alone, and is the same along all others. `of_b`: the side is b's, else a's.
bool is_vector_along(const Operand& bias, const Operand& y, std::string_view spec, bool of_b);

/// A matmul and its pointwise neighbour, whose operands and results have the product's dtype; false for all other
/// regions. The product's operands have it too, or 16 bits where it is fp32.
bool is_fused_product(const baleen_region_t& region);

/// A matmul and a sum of one of its operands over what the product sums.
struct ProductAndSum {
  std::uint64_t product = 0, sum = 0;  ///< the region's ops
  std::size_t operand = 0;             ///< the product's input that is summed
};
/// Nothing for all other regions. The result of the sum has the product's dtype, which is not fp64: cuBLASLt has no
/// epilogues there.
std::optional<ProductAndSum> product_and_sum(const baleen_region_t& region);

}  // namespace baleen::cuda
