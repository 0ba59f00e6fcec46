/// \file Bringing strided rows into packed memory, as they are or transposed, so that products run from the nearest
/// cache.
///
/// Included once per instruction set.
#pragma once
#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

inline Index round_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

/// Asks for rows that are needed soon; they may lie too far apart for the processor to foresee them.
template <class T>
void prefetch(Rows<const T> in, Index first, Index count, Index width) {
  for (Index j = 0; j < count; ++j)
    for (Index e = 0; e < width; e += kLanes<T>) __builtin_prefetch(in.at(first + j) + e, 0, 2);
}

/// How far ahead of a copy rows are asked for.
constexpr Index kRowsAhead = 12;

/// Rows [first, first + count) of `width` elements, each filled up with zeros to `padded`.
template <class T>
void pack(T* out, Rows<const T> in, Index first, Index count, Index width, Index padded) {
  for (Index j = 0; j < count; ++j) {
    const T* row = in.at(first + j);
    if (j + kRowsAhead < count) prefetch(in, first + j + kRowsAhead, 1, width);
    Index e = 0;
    for (; e + kLanes<T> <= width; e += kLanes<T>) store(out + j * padded + e, load(row + e));
    for (; e < padded; ++e) out[j * padded + e] = e < width ? row[e] : T(0);
  }
}

/// Interleaves the first or second halves of a and b.
template <class T, bool kSecond>
BALEEN_INLINE Vector<T> interleave(Vector<T> a, Vector<T> b) {
  constexpr int k = kSecond ? static_cast<int>(kLanes<T>) / 2 : 0;
  if constexpr (sizeof(T) == 4)
    return __builtin_shufflevector(a, b, k, 16 + k, k + 1, 17 + k, k + 2, 18 + k, k + 3, 19 + k, k + 4, 20 + k, k + 5,
                                   21 + k, k + 6, 22 + k, k + 7, 23 + k);
  else
    return __builtin_shufflevector(a, b, k, 8 + k, k + 1, 9 + k, k + 2, 10 + k, k + 3, 11 + k);
}

/// A square of lanes x lanes, transposed: interleaving row i with row i + lanes/2 log2(lanes) times.
template <class T>
BALEEN_INLINE void transpose_square(T* out, Index out_row, const T* in, Index in_row, T scale) {
  constexpr Index n = kLanes<T>;
  Vector<T> rows[n], next[n];
#pragma GCC unroll 16
  for (Index i = 0; i < n; ++i) rows[i] = load(in + i * in_row) * scale;
#pragma GCC unroll 4
  for (Index step = 1; step < n; step *= 2) {
#pragma GCC unroll 16
    for (Index i = 0; i < n / 2; ++i) {
      next[2 * i] = interleave<T, false>(rows[i], rows[i + n / 2]);
      next[2 * i + 1] = interleave<T, true>(rows[i], rows[i + n / 2]);
    }
#pragma GCC unroll 16
    for (Index i = 0; i < n; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (Index i = 0; i < n; ++i) store(out + i * out_row, rows[i]);
}

/// out[e, j] = scale * row(first + j)[e] for e < width, j < count, and 0 for j up to `columns`.
template <class T>
void pack_transposed(T* out, Index out_row, Rows<const T> in, Index first, Index count, Index columns, Index width,
                     T scale) {
  Index j = 0;
  for (; j + kLanes<T> <= count; j += kLanes<T>) {
    const Index next = j + kLanes<T>, rest = count - next < kLanes<T> ? count - next : kLanes<T>;
    prefetch(in, first + next, rest, width);
    Index e = 0;
    for (; e + kLanes<T> <= width; e += kLanes<T>)
      transpose_square(out + e * out_row + j, out_row, in.at(first + j) + e, in.stride, scale);
    for (; e < width; ++e)
      for (Index k = 0; k < kLanes<T>; ++k) out[e * out_row + j + k] = in.at(first + j + k)[e] * scale;
  }
  for (Index e = 0; e < width; ++e)
    for (Index k = j; k < columns; ++k) out[e * out_row + k] = k < count ? in.at(first + k)[e] * scale : T(0);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
