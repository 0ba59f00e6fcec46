/// \file A product by packed panels: a slice of depth of the right side lies as panels as wide as the register tile,
/// and so does that of the left side unless its rows are contiguous. The way of packing and of tiling follows Goto and
/// van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008).
#include "gemm.hpp"

#include <utility>

#include "stored.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class T>
constexpr Index kWidth = kBlockVectors* kLanes<T>;

// From one sliver, or panel, to the next: a line more than their elements, since depths are often powers of two, and
// lines that lie a multiple of 4 KiB apart would drive each other out of the first-level cache.
template <class T>
Index sliver_step(Index depth) {
  return kBlockRows * depth + kLanes<T>;
}
template <class T>
Index panel_step(Index depth) {
  return kWidth<T> * depth + kLanes<T>;
}

/// The least power of two that holds a tile's rows: as many elements are copied at once.
constexpr Index kCopied = kBlockRows > 4 ? 8 : kBlockRows > 2 ? 4 : 2;
template <class T>
struct Copied {
  typedef T type __attribute__((vector_size(kCopied * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T>
BALEEN_INLINE void copy_some(T* to, const T* from) {
  *reinterpret_cast<typename Copied<T>::type*>(to) = *reinterpret_cast<const typename Copied<T>::type*>(from);
}
BALEEN_INLINE void copy_some(float* to, const Bf16* from) {
  const auto bits = *reinterpret_cast<const typename Copied<uint16_t>::type*>(from);
  *reinterpret_cast<typename Copied<uint32_t>::type*>(to) =
      __builtin_convertvector(bits, typename Copied<uint32_t>::type) << 16;
}
BALEEN_INLINE void copy_some(float* to, const Fp16* from) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  for (Index i = 0; i < kCopied; ++i) to[i] = widened_one(from[i]);
#endif
}

template <class Stored, std::enable_if_t<sizeof(Stored) == 1, int> = 0>
BALEEN_INLINE void copy_some(float* to, const Stored* from) {
  for (Index i = 0; i < kCopied; ++i) to[i] = widened_one(from[i]);
}

// Depth [first, last) of rows in slivers as high as the tile: sliver[k][row], zeros beyond the last row. Where a row's
// neighbour is the next element, all rows pass together, so that memory is read along its lines. There, what a copy
// writes beyond its sliver's rows is written again by the next depth, and at the last depth nothing is.
template <class T, class Stored>
void pack_left_of(T* out, const Stored* a, Index a_row, Index a_column, Index rows, Index depth, Index first,
                  Index last) {
  const Index step = sliver_step<T>(depth), whole = a_row == 1 ? rows / kBlockRows * kBlockRows : 0;
  for (Index k = first; k < last && whole > 0; ++k) {
    const Stored* from = a + k * a_column;
    T* to = out + k * kBlockRows;
    Index r = 0;
    if (k + 1 < last)
      for (; r + kCopied <= whole; r += kBlockRows, to += step) copy_some(to, from + r);
    for (; r < whole; r += kBlockRows, to += step)
#pragma GCC unroll 8
      for (Index i = 0; i < kBlockRows; ++i) to[i] = one_as<T>(from + r + i);
  }
  for (Index r = whole; r < rows; r += kBlockRows)
    for (Index k = first; k < last; ++k)
      for (Index i = 0; i < kBlockRows; ++i)
        out[r / kBlockRows * step + k * kBlockRows + i] =
            r + i < rows ? one_as<T>(a + (r + i) * a_row + k * a_column) : T(0);
}

template <class T>
void pack_left(T* out, const void* a, Storage storage, Index a_row, Index a_column, Index rows, Index depth,
               Index first, Index last) {
  with_stored<T>(static_cast<const char*>(a), storage,
                 [=](auto* from) { pack_left_of(out, from, a_row, a_column, rows, depth, first, last); });
}

/// Where lane `lane` of an exchange comes from: a lane of a, or behind them one of b.
template <class T, Index kDistance, bool kUpper>
constexpr int origin(Index lane) {
  const bool second = lane & kDistance;
  if (kUpper) return static_cast<int>(second ? lane + kLanes<T> : lane + kDistance);
  return static_cast<int>(second ? lane - kDistance + kLanes<T> : lane);
}

/// Lanes of a where the distance's bit is not set in the lane, else those of b that lie the distance before; and the
/// other way round. The steps of a transposition by halves.
template <class T, Index kDistance, bool kUpper, Index... kLane>
BALEEN_INLINE Vector<T> exchange(Vector<T> a, Vector<T> b, std::integer_sequence<Index, kLane...>) {
  return __builtin_shufflevector(a, b, origin<T, kDistance, kUpper>(kLane)...);
}

template <class T, Index kDistance>
BALEEN_INLINE void transpose_step(Vector<T>* rows) {
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes<T>; ++i) {
    if (i & kDistance) continue;
    const Vector<T> a = rows[i], b = rows[i + kDistance];
    const std::make_integer_sequence<Index, kLanes<T>> lanes;
    rows[i] = exchange<T, kDistance, false>(a, b, lanes);
    rows[i + kDistance] = exchange<T, kDistance, true>(a, b, lanes);
  }
  if constexpr (kDistance > 1) transpose_step<T, kDistance / 2>(rows);
}

/// As many rows of as many elements: to[j][i] = from[i][j].
template <class T, class Stored>
BALEEN_INLINE void transpose_square(T* to, Index to_row, const Stored* from, Index from_row) {
  Vector<T> rows[kLanes<T>];
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes<T>; ++i) rows[i] = load_as<T>(from + i * from_row);
  transpose_step<T, kLanes<T> / 2>(rows);
#pragma GCC unroll 16
  for (Index i = 0; i < kLanes<T>; ++i) store(to + i * to_row, rows[i]);
}

// Depth [first, last) of columns [0, width) of one panel: panel[k][column], zeros beyond the last column.
template <class T, class Stored>
void pack_panel(T* out, const Stored* b, Index b_row, Index b_column, Index first, Index last, Index width) {
  if (width == kWidth<T> && b_column == 1) {
    for (Index k = first; k < last; ++k)
#pragma GCC unroll 8
      for (Index v = 0; v < kWidth<T>; v += kLanes<T>) store(out + k * kWidth<T> + v, load_as<T>(b + k * b_row + v));
    return;
  }
  if (kRegisterBytes == 64 && width == kWidth<T> && b_row == 1)
    for (; first + kLanes<T> <= last; first += kLanes<T>)
      for (Index v = 0; v < kWidth<T>; v += kLanes<T>)
        transpose_square(out + first * kWidth<T> + v, kWidth<T>, b + first + v * b_column, b_column);
  for (Index j = 0; j < kWidth<T>; ++j)
    for (Index k = first; k < last; ++k)
      out[k * kWidth<T> + j] = j < width ? one_as<T>(b + k * b_row + j * b_column) : T(0);
}

template <class T>
void pack_right(T* out, const void* b, Storage storage, Index b_row, Index b_column, Index depth, Index columns,
                Index first, Index last) {
  constexpr Index kAtOnce = 16;  // of depth, so that what is written stays close whichever way the columns lie
  with_stored<T>(static_cast<const char*>(b), storage, [=](auto* from) {
    for (Index k = first; k < last; k += kAtOnce)
      for (Index j = 0; j < columns; j += kWidth<T>)
        pack_panel(out + j / kWidth<T> * panel_step<T>(depth), from + j * b_column, b_row, b_column, k,
                   k + kAtOnce < last ? k + kAtOnce : last, columns - j < kWidth<T> ? columns - j : kWidth<T>);
  });
}

// A full tile by constants, so that the compiler knows what stays in registers.
template <class T>
BALEEN_INLINE void full_tile(const GemmBlock<T>& g, const T* a, const T* b, T* c, Index c_row, bool accumulate) {
  if (g.a_row == 0)
    multiply_tile<T, kBlockRows, kBlockVectors>(g.depth, a, 1, kBlockRows, b, kWidth<T>, c, c_row, accumulate);
  else
    multiply_tile<T, kBlockRows, kBlockVectors>(g.depth, a, g.a_row, 1, b, kWidth<T>, c, c_row, accumulate);
}

// Where rows or columns are missing: through a whole tile beside the result. Rows that a lacks are not read.
template <class T>
void part_tile(const GemmBlock<T>& g, const T* a, const T* b, T* c, Index rows, Index columns) {
  alignas(64) T tile[kBlockRows * kWidth<T>] = {};
  if (g.accumulate)
    for (Index r = 0; r < rows; ++r)
      for (Index j = 0; j < columns; ++j) tile[r * kWidth<T> + j] = c[r * g.c_row + j * g.c_column];
  if (g.a_row == 0 || rows == kBlockRows)
    full_tile(g, a, b, tile, kWidth<T>, g.accumulate);
  else
    for (Index r = 0; r < rows; ++r)
      multiply_tile<T, 1, kBlockVectors>(g.depth, a + r * g.a_row, g.a_row, 1, b, kWidth<T>, tile + r * kWidth<T>,
                                         kWidth<T>, g.accumulate);
  for (Index r = 0; r < rows; ++r)
    for (Index j = 0; j < columns; ++j) c[r * g.c_row + j * g.c_column] = tile[r * kWidth<T> + j];
}

template <class T>
void gemm(const GemmBlock<T>& g) {
  const Index a_step = g.a_row == 0 ? sliver_step<T>(g.depth) : kBlockRows * g.a_row;
  for (Index j = 0; j < g.columns; j += kWidth<T>) {
    const Index width = g.columns - j < kWidth<T> ? g.columns - j : kWidth<T>;
    const T* const b = g.b + j / kWidth<T> * panel_step<T>(g.depth);
    for (Index r = 0; r < g.rows; r += kBlockRows) {
      const Index height = g.rows - r < kBlockRows ? g.rows - r : kBlockRows;
      const T* const a = g.a + r / kBlockRows * a_step;
      T* const c = g.c + r * g.c_row + j * g.c_column;
      if (height == kBlockRows && width == kWidth<T> && g.c_column == 1)
        full_tile(g, a, b, c, g.c_row, g.accumulate);
      else
        part_tile(g, a, b, c, height, width);
    }
  }
}

template <class T>
void fill(RoutinesOf<T>& routines) {
  routines.gemm_rows = kBlockRows;
  routines.gemm_columns = kWidth<T>;
  routines.sliver_step = sliver_step<T>;
  routines.panel_step = panel_step<T>;
  routines.pack_left = pack_left<T>;
  routines.pack_right = pack_right<T>;
  routines.gemm = gemm<T>;
}

}  // namespace

void fill_gemm(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
