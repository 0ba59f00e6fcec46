/// \file Index arithmetic that kernels and the host share: division by precomputed multiplication, and walks through a
/// shape with the offsets of several operands.
#pragma once
#include <stdint.h>

#if defined(__CUDACC__)
#define BALEEN_BOTH __host__ __device__ __forceinline__
#else
#define BALEEN_BOTH inline
#endif

namespace baleen::cuda {

constexpr int kMaxDims = 8;

/// Division of numbers below 2^31 by a fixed one: a multiplication and a shift (Granlund and Montgomery 1994).
struct Divisor {
  uint32_t divisor = 1, magic = 1, shift = 0;

  static Divisor of(uint32_t divisor) {
    Divisor out;
    out.divisor = divisor;
    while (out.shift < 31 && (uint32_t{1} << out.shift) < divisor) ++out.shift;
    out.magic = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << out.shift) - divisor)) / divisor + 1);
    return out;
  }
  BALEEN_BOTH uint32_t quotient(uint32_t n) const {
    return (static_cast<uint32_t>((static_cast<uint64_t>(n) * magic) >> 32) + n) >> shift;
  }
};

/// A shape that `kOperands` share, in row-major order; offsets and strides in elements. Made by make_walk().
template <int kOperands>
struct Walk {
  int32_t rank = 0;
  int32_t wide = 0;  ///< positions reach 2^31: plain division
  int64_t size = 1;
  int64_t extent[kMaxDims] = {};
  Divisor divisor[kMaxDims] = {};
  int64_t stride[kOperands][kMaxDims] = {};

  /// The operands' offsets at a row-major position.
  BALEEN_BOTH void offsets(int64_t position, int64_t (&out)[kOperands]) const {
    for (int i = 0; i < kOperands; ++i) out[i] = 0;
    for (int dim = rank - 1; dim >= 0; --dim) {
      int64_t outer = 0;
      if (dim > 0) outer = wide ? position / extent[dim] : divisor[dim].quotient(static_cast<uint32_t>(position));
      const int64_t at = position - outer * extent[dim];
      for (int i = 0; i < kOperands; ++i) out[i] += at * stride[i][dim];
      position = outer;
    }
  }
};

}  // namespace baleen::cuda
