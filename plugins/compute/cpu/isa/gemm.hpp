/// \file The register-blocked product of small blocks that attention and the fp64 matmul are built from.
///
/// Included once per instruction set.
#pragma once
#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

#if defined(__AVX512F__)
constexpr Index kBlockRows = 6, kBlockVectors = 4;  // 24 of 32 registers accumulate
#elif defined(__AVX2__)
constexpr Index kBlockRows = 6, kBlockVectors = 1;  // a 64-byte vector is two registers: 12 of 16
#else
constexpr Index kBlockRows = 2, kBlockVectors = 1;
#endif

/// Rows of a product that is cut where parts of it are not needed: some whole tiles.
constexpr Index kFewRows = 12;

/// One register of T. Where registers are shorter than 64 bytes, GCC 12 makes a vector of that length out of one number
/// element by element, so products are written in registers.
template <class T>
struct RegisterOf {
  typedef T type __attribute__((vector_size(kRegisterBytes), may_alias));
  typedef T loose __attribute__((vector_size(kRegisterBytes), aligned(sizeof(T)), may_alias));
};
template <class T>
using Register = typename RegisterOf<T>::type;
template <class T>
constexpr Index kRegisterLanes = kRegisterBytes / static_cast<Index>(sizeof(T));

template <class T>
BALEEN_INLINE Register<T> load_register(const T* p) {
  return *reinterpret_cast<const typename RegisterOf<T>::loose*>(p);
}
template <class T>
BALEEN_INLINE void store_register(T* p, Register<T> x) {
  *reinterpret_cast<typename RegisterOf<T>::loose*>(p) = x;
}

/// c[kRows, kVectors * lanes] (+)= a b, the sum over the depth being added to c as a whole, which keeps long sums in
/// pieces accurate. Element (r, k) of a is a[r * a_row + k * a_column]; rows of b and c are
/// contiguous.
template <class T, Index kRows, Index kVectors>
BALEEN_INLINE void multiply_tile(Index depth, const T* a, Index a_row, Index a_column, const T* b, Index b_row, T* c,
                                 Index c_row, bool accumulate) {
  constexpr Index kParts = kVectors * (64 / kRegisterBytes), kStep = kRegisterLanes<T>;
  Register<T> sum[kRows][kParts];
#pragma GCC unroll 8
  for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (Index v = 0; v < kParts; ++v) {
      sum[r][v] = Register<T>{};
      if (v * kStep % kLanes<T> == 0) __builtin_prefetch(c + r * c_row + v * kStep, 1, 3);
    }
  for (Index k = 0; k < depth; ++k) {
    Register<T> row[kParts];
#pragma GCC unroll 8
    for (Index v = 0; v < kParts; ++v) row[v] = load_register(b + k * b_row + v * kStep);
#pragma GCC unroll 8
    for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (Index v = 0; v < kParts; ++v) sum[r][v] += a[r * a_row + k * a_column] * row[v];
  }
  if (accumulate) {
#pragma GCC unroll 8
    for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (Index v = 0; v < kParts; ++v) sum[r][v] += load_register(c + r * c_row + v * kStep);
  }
#pragma GCC unroll 8
  for (Index r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (Index v = 0; v < kParts; ++v) store_register(c + r * c_row + v * kStep, sum[r][v]);
}

/// A column panel of kVectors vectors, all rows.
template <class T, Index kVectors>
void multiply_panel(Index rows, Index depth, const T* a, Index a_row, Index a_column, const T* b, Index b_row, T* c,
                    Index c_row, bool accumulate) {
  Index r = 0;
  for (; r + kBlockRows <= rows; r += kBlockRows)
    multiply_tile<T, kBlockRows, kVectors>(depth, a + r * a_row, a_row, a_column, b, b_row, c + r * c_row, c_row,
                                           accumulate);
  if constexpr (kBlockRows > 4)
    for (; r + 4 <= rows; r += 4)
      multiply_tile<T, 4, kVectors>(depth, a + r * a_row, a_row, a_column, b, b_row, c + r * c_row, c_row, accumulate);
  if constexpr (kBlockRows > 2)
    for (; r + 2 <= rows; r += 2)
      multiply_tile<T, 2, kVectors>(depth, a + r * a_row, a_row, a_column, b, b_row, c + r * c_row, c_row, accumulate);
  for (; r < rows; ++r)
    multiply_tile<T, 1, kVectors>(depth, a + r * a_row, a_row, a_column, b, b_row, c + r * c_row, c_row, accumulate);
}

/// c[rows, columns] (+)= a[rows, depth] b[depth, columns]; columns is a multiple of the lanes. Each element's sum runs
/// over k in ascending order, whatever the blocking.
template <class T>
void multiply(Index rows, Index columns, Index depth, const T* a, Index a_row, Index a_column, const T* b, Index b_row,
              T* c, Index c_row, bool accumulate) {
  constexpr Index kWidth = kBlockVectors * kLanes<T>;
  Index j = 0;
  for (; j + kWidth <= columns; j += kWidth)
    multiply_panel<T, kBlockVectors>(rows, depth, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate);
  if constexpr (kBlockVectors > 2)
    for (; j + 2 * kLanes<T> <= columns; j += 2 * kLanes<T>)
      multiply_panel<T, 2>(rows, depth, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate);
  for (; j < columns; j += kLanes<T>)
    multiply_panel<T, 1>(rows, depth, a, a_row, a_column, b + j, b_row, c + j, c_row, accumulate);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
