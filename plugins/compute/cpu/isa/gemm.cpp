/// \file A product by packed panels: a slice of depth of the right side lies as panels as wide as the register tile,
/// and so does that of the left side unless its rows are contiguous. The way of packing and of tiling follows Goto and
/// van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34 (2008).
#include "gemm.hpp"

#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class T>
constexpr Index kWidth = kBlockVectors* kLanes<T>;

// Rows of the left side in slivers as high as the tile: sliver[k][row], zeros beyond the last row.
template <class T>
void pack_left(T* out, const T* a, Index a_row, Index a_column, Index rows, Index depth) {
  for (Index r = 0; r < rows; r += kBlockRows, out += kBlockRows * depth, a += kBlockRows * a_row) {
    const Index height = rows - r < kBlockRows ? rows - r : kBlockRows;
    if (height == kBlockRows && a_row == 1) {
      for (Index k = 0; k < depth; ++k)
        for (Index i = 0; i < kBlockRows; ++i) out[k * kBlockRows + i] = a[k * a_column + i];
      continue;
    }
    for (Index k = 0; k < depth; ++k)
      for (Index i = 0; i < kBlockRows; ++i) out[k * kBlockRows + i] = i < height ? a[i * a_row + k * a_column] : T(0);
  }
}

// Columns [0, width) of one panel: panel[k][column], zeros beyond the last column.
template <class T>
void pack_panel(T* out, const T* b, Index b_row, Index b_column, Index depth, Index width) {
  if (width == kWidth<T> && b_column == 1) {
    for (Index k = 0; k < depth; ++k)
      for (Index v = 0; v < kWidth<T>; v += kLanes<T>) store(out + k * kWidth<T> + v, load(b + k * b_row + v));
    return;
  }
  constexpr Index kAtOnce =
      16;  // of depth, so that what is written stays close while columns are read along their length
  for (Index first = 0; first < depth; first += kAtOnce) {
    const Index end = first + kAtOnce < depth ? first + kAtOnce : depth;
    for (Index j = 0; j < kWidth<T>; ++j)
      for (Index k = first; k < end; ++k) out[k * kWidth<T> + j] = j < width ? b[k * b_row + j * b_column] : T(0);
  }
}

template <class T>
void pack_right(T* out, const T* b, Index b_row, Index b_column, Index depth, Index columns) {
  for (Index j = 0; j < columns; j += kWidth<T>)
    pack_panel(out + j * depth, b + j * b_column, b_row, b_column, depth,
               columns - j < kWidth<T> ? columns - j : kWidth<T>);
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
  const Index a_step = g.a_row == 0 ? g.depth : g.a_row;  // from one row to the next, in whole slivers
  for (Index j = 0; j < g.columns; j += kWidth<T>) {
    const Index width = g.columns - j < kWidth<T> ? g.columns - j : kWidth<T>;
    const T* const b = g.b + j * g.depth;
    for (Index r = 0; r < g.rows; r += kBlockRows) {
      const Index height = g.rows - r < kBlockRows ? g.rows - r : kBlockRows;
      const T* const a = g.a + r * a_step;
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
