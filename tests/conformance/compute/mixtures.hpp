/// \file Operands in several dtypes.
#pragma once
#include "conformance/cuda/cross_check_cases.hpp"

namespace baleen::conformance {

/// The dtype of operand `i` of an op whose dtype of 16 bits is `half`.
struct Mixture {
  const char* name;
  baleen_dtype_t (*of)(baleen_dtype_t half, bool output, std::size_t i);
};
inline const Mixture kMixtures[] = {
    {"all in 16 bits", [](baleen_dtype_t half, bool, std::size_t) { return half; }},
    {"to fp32",
     [](baleen_dtype_t half, bool output, std::size_t) { return output ? baleen_dtype_t{BALEEN_F32} : half; }},
    {"from fp32",
     [](baleen_dtype_t half, bool output, std::size_t) { return output ? half : baleen_dtype_t{BALEEN_F32}; }},
    {"every second one",
     [](baleen_dtype_t half, bool, std::size_t i) { return i % 2 ? baleen_dtype_t{BALEEN_F32} : half; }},
    {"the first in 16 bits",
     [](baleen_dtype_t half, bool, std::size_t i) { return i ? baleen_dtype_t{BALEEN_F32} : half; }},
    {"bf16 and fp16",
     [](baleen_dtype_t half, bool, std::size_t i) {
       return (i % 2 == 0) == (half == BALEEN_BF16) ? baleen_dtype_t{BALEEN_BF16} : baleen_dtype_t{BALEEN_F16};
     }},
};

/// The case with its operands' dtypes set, and inputs that these hold.
inline CrossCase mixed(CrossCase c, const Mixture& mixture, baleen_dtype_t half) {
  std::size_t i = 0;
  for (Tensor& t : c.inputs) {
    if (!t.integer) t.dtype = mixture.of(half, false, i);
    for (double& x : t.values) x = t.integer ? x : rounded(x, t.dtype);
    ++i;
  }
  for (Tensor& t : c.outputs) {
    if (!t.integer) t.dtype = mixture.of(half, true, i);
    ++i;
  }
  return c;
}

}  // namespace baleen::conformance
