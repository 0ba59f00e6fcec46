/// \file A contraction by letters as a matrix product: which letters are batch, rows, columns, depth, and their
/// strides.
#pragma once
#include <vector>

#include "baleen/contraction.hpp"
#include "kernel.hpp"

namespace baleen::cpu {

using namespace sdk;

using Loop = ContractionLoop;

/// y[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n]. Neighbouring letters of one group are merged where the
/// strides of both operands allow it; each group keeps its longest loop innermost and leaves the others to `outer`
/// (which may sum into y: `outer_depth`).
struct Contraction {
  Loop m, n, k;
  std::vector<Loop> outer;        ///< batch letters and what could not be merged of m and n
  std::vector<Loop> outer_depth;  ///< what could not be merged of k

  std::int64_t results() const;
  double flops() const;
};

/// `spec` is like "bsd,dhe->bshe"; `c`, what is added, may be null.
Result<Contraction> parse_contraction(std::string_view spec, const Operand& a, const Operand& b, const Operand& y,
                                      const Operand* c = nullptr);

}  // namespace baleen::cpu
