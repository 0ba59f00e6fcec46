/// \file One matrix product with a batch, of any strides.
#pragma once
#include <memory>

#include "contraction.hpp"

namespace baleen::cpu {

/// y (+)= a b over the loops of a contraction without outer depth.
class Gemm {
 public:
  virtual ~Gemm() = default;
  /// Bytes of scratch each run needs.
  virtual std::uint64_t scratch_bytes() const = 0;
  virtual void run(const void* a, const void* b, void* y, void* scratch) = 0;
};

/// `accumulate` adds to y. What each element of y is does not depend on the number of threads.
std::unique_ptr<Gemm> make_gemm(const Context& context, baleen_dtype_t dtype, const Contraction& contraction,
                                bool accumulate);

}  // namespace baleen::cpu
