/// \file norm and its gradient: a block per row forward; backward a block per stretch of rows, which keeps its sums for
/// the parameters in shared memory, and a second kernel that adds the blocks' in a fixed order.
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {
namespace {

template <class S>
__device__ void norm(const NormArgs& args) {
  using T = Compute<S>;
  int64_t at[4];
  args.rows.leading.offsets(blockIdx.x, at);
  const int64_t width = args.rows.width;
  const S* x = static_cast<const S*>(args.x) + at[0];
  T mean = 0;
  if (args.mean) {
    for (int64_t i = threadIdx.x; i < width; i += blockDim.x) mean += static_cast<T>(x[i * args.rows.inner[0]]);
    mean = fold_block<Sum<T>>(mean) / static_cast<T>(width);
  }
  T squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T d = static_cast<T>(x[i * args.rows.inner[0]]) - mean;
    squares += d * d;
  }
  const T variance = fold_block<Sum<T>>(squares) / static_cast<T>(width);
  const T rstd = T(1) / sqrt(variance + static_cast<T>(args.epsilon));
  const S *gamma = static_cast<const S*>(args.gamma), *beta = static_cast<const S*>(args.beta);
  S* y = static_cast<S*>(args.y) + at[1];
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    T value = (static_cast<T>(x[i * args.rows.inner[0]]) - mean) * rstd * static_cast<T>(gamma[i * args.gamma_stride]);
    if (beta) value += static_cast<T>(beta[i * args.beta_stride]);
    y[i * args.rows.inner[1]] = static_cast<S>(value);
  }
  if (threadIdx.x != 0) return;
  static_cast<T*>(args.rstd)[at[2]] = rstd;
  if (args.mean) static_cast<T*>(args.mean)[at[3]] = mean;
}

/// Adds one row's part to this thread's columns of `sums` (dgamma, dbeta) and writes dx.
template <class S>
__device__ void norm_grad_row(const NormGradArgs& args, int64_t row, Compute<S>* sums) {
  using T = Compute<S>;
  int64_t at[5];
  args.rows.leading.offsets(row, at);
  const int64_t width = args.rows.width;
  const S *x = static_cast<const S*>(args.x) + at[0], *dy = static_cast<const S*>(args.dy) + at[1];
  const S* gamma = static_cast<const S*>(args.gamma);
  const T rstd = static_cast<const T*>(args.rstd)[at[3]];
  const T mean = args.layer ? static_cast<const T*>(args.mean)[at[4]] : T(0);
  T dot = 0, total = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T normal = (static_cast<T>(x[i * args.rows.inner[0]]) - mean) * rstd;
    const T d = static_cast<T>(dy[i * args.rows.inner[1]]), g = d * static_cast<T>(gamma[i * args.gamma_stride]);
    dot += g * normal;
    total += g;
    sums[i] += d * normal;
    if (args.has_beta) sums[width + i] += d;
  }
  dot = fold_block<Sum<T>>(dot) / static_cast<T>(width);
  total = args.layer ? fold_block<Sum<T>>(total) / static_cast<T>(width) : T(0);
  S* dx = static_cast<S*>(args.dx) + at[2];
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T normal = (static_cast<T>(x[i * args.rows.inner[0]]) - mean) * rstd;
    const T g = static_cast<T>(dy[i * args.rows.inner[1]]) * static_cast<T>(gamma[i * args.gamma_stride]);
    dx[i * args.rows.inner[2]] = static_cast<S>(rstd * (g - total - normal * dot));
  }
}

template <class S>
__device__ void norm_grad(const NormGradArgs& args) {
  using T = Compute<S>;
  T* sums = reinterpret_cast<T*>(BALEEN_SHARED_MEMORY());
  const int64_t columns = args.has_beta ? 2 * args.rows.width : args.rows.width;
  // A column is one thread's from beginning to end, so no barrier stands between its uses.
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x) {
    sums[i] = 0;
    if (args.has_beta) sums[args.rows.width + i] = 0;
  }
  const int64_t rows = args.rows.leading.size;
  const int64_t begin = rows * blockIdx.x / gridDim.x, end = rows * (blockIdx.x + 1) / gridDim.x;
  for (int64_t row = begin; row < end; ++row) norm_grad_row<S>(args, row, sums);
  T* out = static_cast<T*>(args.partials) + blockIdx.x * columns;
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x) {
    out[i] = sums[i];
    if (args.has_beta) out[args.rows.width + i] = sums[args.rows.width + i];
  }
}

template <class S>
__device__ void norm_grad_sum(const NormGradSumArgs& args) {
  using T = Compute<S>;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t columns = args.dbeta ? 2 * args.width : args.width;
  if (column >= columns) return;
  T sum = 0;
  for (int64_t block = 0; block < args.blocks; ++block)
    sum += static_cast<const T*>(args.partials)[block * columns + column];
  if (column < args.width)
    static_cast<S*>(args.dgamma)[column * args.dgamma_stride] = static_cast<S>(sum);
  else
    static_cast<S*>(args.dbeta)[(column - args.width) * args.dbeta_stride] = static_cast<S>(sum);
}

}  // namespace

BALEEN_KERNEL(1024, baleen_norm_f32, NormArgs) { norm<float>(args); }
BALEEN_KERNEL(1024, baleen_norm_f64, NormArgs) { norm<double>(args); }
BALEEN_KERNEL(1024, baleen_norm_grad_f32, NormGradArgs) { norm_grad<float>(args); }
BALEEN_KERNEL(1024, baleen_norm_grad_f64, NormGradArgs) { norm_grad<double>(args); }
BALEEN_KERNEL(256, baleen_norm_grad_sum_f32, NormGradSumArgs) { norm_grad_sum<float>(args); }
BALEEN_KERNEL(256, baleen_norm_grad_sum_f64, NormGradSumArgs) { norm_grad_sum<double>(args); }

}  // namespace baleen::cuda
