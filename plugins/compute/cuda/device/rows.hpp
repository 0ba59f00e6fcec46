/// \file Arguments of the kernels that work row by row: softmax, norm, cross_entropy and top_k.
#pragma once
#include "ids.hpp"

namespace baleen::cuda {

/// Rows of so many operands: a walk over their leading dimensions, and the stride along the last.
template <int kOperands>
struct Rows {
  Walk<kOperands> leading;
  int64_t width = 0;
  int64_t inner[kOperands] = {};
};

struct SoftmaxArgs {
  Rows<2> rows;  // x, y
  const void* x;
  void* y;
};
struct SoftmaxGradArgs {
  Rows<3> rows;  // y, dy, dx
  const void *y, *dy;
  void* dx;
};

struct NormArgs {
  Rows<4> rows;  // x, y, rstd, mean
  const void *x, *gamma, *beta;
  void *y, *rstd, *mean;  // beta and mean may be null
  int64_t gamma_stride, beta_stride;
  double epsilon;
};
struct NormGradArgs {
  Rows<5> rows;  // x, dy, dx, rstd, mean
  const void *x, *gamma, *dy, *rstd, *mean;
  void *dx, *partials;
  int64_t gamma_stride;
  int32_t has_beta, layer;
};
/// Adds the blocks' partials: dgamma and, behind it, dbeta.
struct NormGradSumArgs {
  const void* partials;
  void *dgamma, *dbeta;
  int64_t width, blocks, dgamma_stride, dbeta_stride;
};

struct CrossEntropyArgs {
  Rows<4> rows;  // x, target, loss, lse
  const void* x;
  const int32_t* target;
  void *loss, *lse;
  int64_t first_row;  // of this chunk, in the operands other than x
  double smoothing;
  IdRange range;
  IdReport report;
};
struct CrossEntropyGradArgs {
  Rows<5> rows;  // x, dx, target, lse, dloss
  const void* x;
  void* dx;
  const int32_t* target;
  const void *lse, *dloss;
  int64_t first_row;
  double smoothing;
  IdRange range;
  HeldRuns held;
  IdReport report;
};

struct TopKArgs {
  Rows<3> rows;  // x, values, ids
  const void* x;
  void* values;
  int32_t* ids;
  int64_t k;
};

}  // namespace baleen::cuda
