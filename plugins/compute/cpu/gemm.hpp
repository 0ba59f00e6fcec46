/// \file One matrix product with a batch, of any strides and dtypes.
#pragma once
#include <memory>

#include "contraction.hpp"

namespace baleen::cpu {

/// Of the two sides, the result and what is added to the product. All fp64, or none.
struct GemmDtypes {
  baleen_dtype_t a, b, y, c;
};

/// y = a b (+ c) over the loops of a contraction.
class Gemm {
 public:
  virtual ~Gemm() = default;
  /// Bytes of scratch each run needs.
  virtual std::uint64_t scratch_bytes() const = 0;
  /// c may be null, or be y itself with its strides and dtype.
  virtual void run(const void* a, const void* b, const void* c, void* y, void* scratch) = 0;
};

/// What each element of y is does not depend on the number of threads.
std::unique_ptr<Gemm> make_gemm(const Context& context, const GemmDtypes& dtypes, const Contraction& contraction);

}  // namespace baleen::cpu
