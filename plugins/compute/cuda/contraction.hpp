/// \file A contraction by letters: which are batch, rows, columns and depth; and how it becomes matrix products.
#pragma once
#include <optional>
#include <vector>

#include "kernel.hpp"

namespace baleen::cuda {

/// A letter, or several that merged: its extent and its stride in each operand (0 where the operand lacks it).
struct Loop {
  std::int64_t extent = 1;
  std::int64_t a = 0, b = 0, y = 0;
};

/// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]; each group outermost first, without extents of 1,
/// neighbours merged where all operands allow it.
struct Contraction {
  std::vector<Loop> batch, m, n, k;

  double flops() const;
};

/// `spec` is like "bsd,dhe->bshe".
Result<Contraction> parse_contraction(std::string_view spec, const Operand& a, const Operand& b, const Operand& y);
/// Merges and orders the groups.
Contraction merged(Contraction contraction);

/// One column-major product d = op(left) op(right) as BLAS takes it, of which `batch` lie apart by fixed strides.
struct GemmPlan {
  struct Matrix {
    bool transposed = false;
    std::int64_t rows = 0, columns = 0;  ///< as stored
    std::int64_t leading = 0, batch_stride = 0;
  };
  bool swapped = false;  ///< left is the contraction's b, right its a; d is y transposed
  Matrix left, right, result;
  std::int64_t rows = 0, columns = 0, depth = 0, batch = 1;

  /// The product is run once for each, at these offsets in elements; the later ones of a sum add to y.
  struct Turn {
    std::int64_t a = 0, b = 0, y = 0;
    bool adds = false;
  };
  std::vector<Turn> turns;
};

/// Nothing where a matrix has no dimension of stride 1, or where too many small products would be needed.
std::optional<GemmPlan> plan_gemm(const Contraction& contraction);

}  // namespace baleen::cuda
