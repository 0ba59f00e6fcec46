/// \file A general product for the reference path: any strides, by packed panels of b.
#include "gemm.hpp"

#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

constexpr Index kDepth = 128, kRowsAtOnce = 48;

// Columns [0, width) of b's rows, zeros up to the panel's full width.
template <class T>
void pack(T* panel, Index panel_row, const T* b, Index b_row, Index b_column, Index depth, Index width) {
  for (Index k = 0; k < depth; ++k) {
    for (Index j = 0; j < width; ++j) panel[k * panel_row + j] = b[k * b_row + j * b_column];
    for (Index j = width; j < panel_row; ++j) panel[k * panel_row + j] = T(0);
  }
}

template <class T>
void add_block(T* c, Index c_row, Index c_column, const T* block, Index block_row, Index rows, Index width, bool add) {
  for (Index r = 0; r < rows; ++r)
    for (Index j = 0; j < width; ++j) {
      T& out = c[r * c_row + j * c_column];
      out = add ? out + block[r * block_row + j] : block[r * block_row + j];
    }
}

template <class T>
void gemm(const GemmShape& s, const T* a, const T* b, T* c, bool accumulate) {
  constexpr Index kWidth = 4 * kLanes<T>;
  alignas(64) T panel[kDepth * kWidth];
  alignas(64) T block[kRowsAtOnce * kWidth];
  for (Index j = 0; j < s.n; j += kWidth) {
    const Index width = s.n - j < kWidth ? s.n - j : kWidth;
    const Index columns = (width + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
    for (Index k = 0; k < s.k || k == 0; k += kDepth) {
      const Index depth = s.k - k < kDepth ? s.k - k : kDepth;
      pack(panel, columns, b + k * s.b_row + j * s.b_column, s.b_row, s.b_column, depth, width);
      for (Index r = 0; r < s.m; r += kRowsAtOnce) {
        const Index rows = s.m - r < kRowsAtOnce ? s.m - r : kRowsAtOnce;
        multiply(rows, columns, depth, a + r * s.a_row + k * s.a_column, s.a_row, s.a_column, panel, columns, block,
                 columns, false);
        add_block(c + r * s.c_row + j * s.c_column, s.c_row, s.c_column, block, columns, rows, width,
                  accumulate || k > 0);
      }
    }
  }
}

}  // namespace

void fill_gemm(Routines& routines) {
  routines.f32.gemm = gemm<float>;
  routines.f64.gemm = gemm<double>;
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
