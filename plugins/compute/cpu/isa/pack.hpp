/// \file Bringing strided rows into packed memory, as they are or transposed, so that products run from the nearest
/// cache.
///
/// Included once per instruction set.
#pragma once
#include <type_traits>

#include "stored.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

inline Index round_up(Index n, Index unit) { return (n + unit - 1) / unit * unit; }

/// Rows of T.
template <class T>
BALEEN_INLINE InputRows rows_of(const T* data, Index stride) {
  return {reinterpret_cast<const char*>(data), stride * static_cast<Index>(sizeof(T)), Storage::kOwn};
}

/// Asks for rows that are needed soon; they may lie too far apart for the processor to foresee them.
template <class T>
void prefetch(InputRows in, Index first, Index count, Index width) {
  const Index bytes = width * with_stored<T>(in.data, in.storage, [](auto* x) { return Index{sizeof(*x)}; });
  for (Index j = 0; j < count; ++j)
    for (Index at = 0; at < bytes; at += 64) __builtin_prefetch(in.at(first + j) + at, 0, 2);
}

/// How far ahead of a copy rows are asked for.
constexpr Index kRowsAhead = 12;

/// Rows [first, first + count) of `width` elements as T, each filled up with zeros to `padded`.
template <class T>
void pack(T* out, InputRows in, Index first, Index count, Index width, Index padded) {
  for (Index j = 0; j < count; ++j) {
    if (j + kRowsAhead < count) prefetch<T>(in, first + j + kRowsAhead, 1, width);
    with_stored<T>(in.at(first + j), in.storage, [=](auto* row) {
      Index e = 0;
      for (; e + kLanes<T> <= width; e += kLanes<T>) store(out + j * padded + e, load_as<T>(row + e));
      for (; e < padded; ++e) out[j * padded + e] = e < width ? one_as<T>(row + e) : T(0);
    });
  }
}

/// A row of T rounded to what is stored.
template <class T>
void unpack(char* out, Storage storage, const T* in, Index width) {
  with_stored<T>(out, storage, [=](auto* row) {
    Index e = 0;
    if constexpr (sizeof(*row) < 4)
      for (; e + kLanes<T> <= width; e += kLanes<T>) store_as(row + e, load(in + e));
    for (; e < width; ++e) store_one(row + e, in[e]);
  });
}

/// Interleaves the first or second halves of a and b.
template <class T, bool kSecond>
BALEEN_INLINE Vector<T> interleave(Vector<T> a, Vector<T> b) {
  constexpr int kFrom = kSecond ? static_cast<int>(kLanes<T>) / 2 : 0;
  if constexpr (sizeof(T) == 4)
    return __builtin_shufflevector(a, b, kFrom, 16 + kFrom, kFrom + 1, 17 + kFrom, kFrom + 2, 18 + kFrom, kFrom + 3,
                                   19 + kFrom, kFrom + 4, 20 + kFrom, kFrom + 5, 21 + kFrom, kFrom + 6, 22 + kFrom,
                                   kFrom + 7, 23 + kFrom);
  else
    return __builtin_shufflevector(a, b, kFrom, 8 + kFrom, kFrom + 1, 9 + kFrom, kFrom + 2, 10 + kFrom, kFrom + 3,
                                   11 + kFrom);
}

/// A square of lanes x lanes, transposed: interleaving row i with row i + lanes/2 log2(lanes) times.
template <class T, class Stored>
BALEEN_INLINE void transpose_square(T* out, Index out_row, InputRows in, Index first, Index column, T scale) {
  constexpr Index kRows = kLanes<T>;
  Vector<T> rows[kRows], next[kRows];
#pragma GCC unroll 16
  for (Index i = 0; i < kRows; ++i)
    rows[i] = load_as<T>(reinterpret_cast<const Stored*>(in.at(first + i)) + column) * scale;
#pragma GCC unroll 4
  for (Index step = 1; step < kRows; step *= 2) {
#pragma GCC unroll 16
    for (Index i = 0; i < kRows / 2; ++i) {
      next[2 * i] = interleave<T, false>(rows[i], rows[i + kRows / 2]);
      next[2 * i + 1] = interleave<T, true>(rows[i], rows[i + kRows / 2]);
    }
#pragma GCC unroll 16
    for (Index i = 0; i < kRows; ++i) rows[i] = next[i];
  }
#pragma GCC unroll 16
  for (Index i = 0; i < kRows; ++i) store(out + i * out_row, rows[i]);
}

/// out[e, j] = scale * row(first + j)[e] for e < width, j < count, and 0 for j up to `columns`.
template <class T, class Stored>
void pack_transposed_of(T* out, Index out_row, InputRows in, Index first, Index count, Index columns, Index width,
                        T scale) {
  const auto one = [in, first](Index j, Index e) {
    return one_as<T>(reinterpret_cast<const Stored*>(in.at(first + j)) + e);
  };
  Index j = 0;
  for (; j + kLanes<T> <= count; j += kLanes<T>) {
    const Index next = j + kLanes<T>, rest = count - next < kLanes<T> ? count - next : kLanes<T>;
    prefetch<T>(in, first + next, rest, width);
    Index e = 0;
    for (; e + kLanes<T> <= width; e += kLanes<T>)
      transpose_square<T, Stored>(out + e * out_row + j, out_row, in, first + j, e, scale);
    for (; e < width; ++e)
      for (Index k = 0; k < kLanes<T>; ++k) out[e * out_row + j + k] = one(j + k, e) * scale;
  }
  for (Index e = 0; e < width; ++e)
    for (Index k = j; k < columns; ++k) out[e * out_row + k] = k < count ? one(k, e) * scale : T(0);
}
template <class T>
void pack_transposed(T* out, Index out_row, InputRows in, Index first, Index count, Index columns, Index width,
                     T scale) {
  with_stored<T>(in.data, in.storage, [=](auto* stored) {
    using Stored = std::remove_cv_t<std::remove_pointer_t<decltype(stored)>>;
    pack_transposed_of<T, Stored>(out, out_row, in, first, count, columns, width, scale);
  });
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
