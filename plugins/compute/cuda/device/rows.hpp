/// \file Arguments of the kernels that work row by row: softmax, norm, cross_entropy and top_k.
#pragma once
#include "ids.hpp"
#include "values.hpp"

namespace baleen::cuda {

/// Rows of so many operands: a walk over their leading dimensions, and the stride along the last.
template <int kOperands>
struct Rows {
  Walk<kOperands> leading;
  int64_t width = 0;
  int64_t inner[kOperands] = {};
  int32_t packs = 0;  ///< rows of all of them are whole packs of kPack neighbours
};

/// Rows that norm and its gradient hold in registers: by a warp, kRowsOfBlock of them in a block, or by a block whose
/// threads take kHeldByThread elements each.
constexpr int kRowsOfBlock = 4, kHeldByWarp = 2048, kHeldByThread = 16, kMostHeld = 16384, kMostHeldGrad = 8192;
/// Elements of a thread, where a warp takes the row.
constexpr int held_by_lane(int64_t width) {
  return width <= 512 ? 16 : width <= 768 ? 24 : width <= 1024 ? 32 : width <= 1280 ? 40 : width <= 1792 ? 56 : 64;
}
/// Blocks of warps that a multiprocessor holds.
constexpr int norm_resident(int by_lane) { return by_lane <= 32 ? 8 : 4; }
/// The gradient, of elements of so many bytes: how many elements of a row stay in a lane's registers. Rows of more are
/// staged: they come through shared memory, kStages of them at a time for each warp.
constexpr int kMostInRegisters = 32, kStages = 2;
/// Elements of a lane's part of a row that comes through shared memory, to which something may be added.
constexpr int kMostAdded = 40;
constexpr int64_t most_held_by_warp(int bytes) { return bytes == 2 ? 1792 : 32 * kMostInRegisters; }
constexpr int norm_grad_resident(int bytes, int by_lane) {
  if (by_lane > kMostInRegisters) return 3;
  return bytes == 2 ? (by_lane <= 16 ? 4 : 3) : (by_lane <= 16 ? 4 : 2);
}

struct SoftmaxArgs {
  Rows<2> rows;  // x, y
  Values x, y;
};
struct SoftmaxGradArgs {
  Rows<3> rows;  // y, dy, dx
  Values y, dy, dx;
};

struct NormArgs {
  Rows<4> rows;                          // x, y, rstd, mean
  Values x, gamma, beta, y, rstd, mean;  // beta and mean may be null
  int64_t gamma_stride, beta_stride;
  double epsilon;
};
struct NormGradArgs {
  Rows<6> rows;  // x, dy, dx, rstd, mean, added
  Values x, gamma, dy, rstd, mean, dx;
  Values added;  // to dx, if `adds`
  void* partials;
  int64_t gamma_stride;
  int32_t has_beta, layer, adds;
};
/// Adds the blocks' partials: dgamma and, behind it, dbeta.
struct NormGradSumArgs {
  const void* partials;
  Values dgamma, dbeta;
  int64_t width, blocks, dgamma_stride, dbeta_stride;
};

struct CrossEntropyArgs {
  Rows<4> rows;  // x, target, loss, lse
  Values x;
  const int32_t* target;
  Values loss, lse;
  int64_t first_row;  // of this chunk, in the operands other than x
  double smoothing;
  IdRange range;
  IdReport report;
};
struct CrossEntropyGradArgs {
  Rows<5> rows;  // x, dx, target, lse, dloss
  Values x, dx;
  const int32_t* target;
  Values lse, dloss;
  int64_t first_row;
  double smoothing;
  IdRange range;
  HeldRuns held;
  IdReport report;
};

/// Both of the same chunk, each row read once and kept in the block's shared memory.
struct CrossEntropyBothArgs {
  CrossEntropyArgs loss;
  CrossEntropyGradArgs grad;
};

struct TopKArgs {
  Rows<3> rows;  // x, values, ids
  Values x, values;
  int32_t* ids;
  int64_t k;
};

}  // namespace baleen::cuda
