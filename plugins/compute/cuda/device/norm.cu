/// \file norm and its gradient of rows that norm_rows.cu does not take: a block per row forward; backward a block per
/// stretch of rows, which keeps its sums for the parameters in shared memory. A second kernel adds the blocks' of
/// either in a fixed order.
#include "row.cuh"

namespace baleen::cuda {
namespace {

template <class T, int kMost>
__device__ void norm(const NormArgs& args) {
  int64_t at[4];
  args.rows.leading.offsets(blockIdx.x, at);
  const int64_t width = args.rows.width;
  const Row<T> from{args.x, at[0], args.rows.inner[0]}, to{args.y, at[1], args.rows.inner[1]};
  const Row<T> gamma{args.gamma, 0, args.gamma_stride}, beta{args.beta, 0, args.beta_stride};
  T mean = 0, squares = 0;
  if (args.mean.data) {
    each_of<kMost>(width, from, [&](int64_t, auto& x) {
      for (const T one : x) mean += one;
    });
    mean = fold_block<Sum<T>>(mean) / static_cast<T>(width);
  }
  each_of<kMost>(width, from, [&](int64_t, auto& x) {
    for (const T one : x) squares += (one - mean) * (one - mean);
  });
  const T variance = fold_block<Sum<T>>(squares) / static_cast<T>(width);
  const T rstd = T(1) / sqrt(variance + static_cast<T>(args.epsilon));
  each_of<kMost>(width, from, gamma, [&](int64_t i, auto& x, auto& g) {
    constexpr int n = BALEEN_LENGTH(x);
    T b[n] = {};
    if (args.beta.data) beta.load(i, b);
    for (int k = 0; k < n; ++k) x[k] = (x[k] - mean) * rstd * g[k] + b[k];
    to.store(i, x);
  });
  if (threadIdx.x != 0) return;
  store(args.rstd, at[2], rstd);
  if (args.mean.data) store(args.mean, at[3], mean);
}

/// The operands of one row of the gradient.
template <class T>
struct GradRow {
  __device__ GradRow(const NormGradArgs& args, int64_t row) {
    int64_t at[6];
    args.rows.leading.offsets(row, at);
    x = {args.x, at[0], args.rows.inner[0]};
    dy = {args.dy, at[1], args.rows.inner[1]};
    dx = {args.dx, at[2], args.rows.inner[2]};
    added = {args.added, at[5], args.rows.inner[5]};
    gamma = {args.gamma, 0, args.gamma_stride};
    rstd = load<T>(args.rstd, at[3]);
    mean = args.layer ? load<T>(args.mean, at[4]) : T(0);
  }
  Row<T> x, dy, dx, gamma, added;
  T rstd, mean;
};

/// Where the sum of column i + k stands, of a thread that takes n columns from i on: neighbouring threads' sums are
/// neighbours, so they are in different banks.
template <int n>
__device__ __forceinline__ int64_t slot(int64_t width, int64_t i, int k) {
  return n == 1 ? i : k * (width / n) + i / n;
}

/// Adds one row's part to this thread's columns of `sums` (dgamma, dbeta) and writes dx.
template <class T, int kMost>
__device__ void norm_grad_row(const NormGradArgs& args, int64_t row, T* sums) {
  const GradRow<T> r(args, row);
  const int64_t width = args.rows.width;
  T dot = 0, total = 0;
  each_of<kMost>(width, r.x, r.dy, r.gamma, [&](int64_t i, auto& x, auto& d, auto& g) {
    constexpr int n = BALEEN_LENGTH(x);
    for (int k = 0; k < n; ++k) {
      const T normal = (x[k] - r.mean) * r.rstd;
      dot += d[k] * g[k] * normal;
      total += d[k] * g[k];
      sums[slot<n>(width, i, k)] += d[k] * normal;
      if (args.has_beta) sums[width + slot<n>(width, i, k)] += d[k];
    }
  });
  dot = fold_block<Sum<T>>(dot) / static_cast<T>(width);
  total = args.layer ? fold_block<Sum<T>>(total) / static_cast<T>(width) : T(0);
  each_of<kMost>(width, r.x, r.dy, r.gamma, [&](int64_t i, auto& x, auto& d, auto& g) {
    for (int k = 0; k < BALEEN_LENGTH(x); ++k) x[k] = r.rstd * (d[k] * g[k] - total - (x[k] - r.mean) * r.rstd * dot);
    if (args.adds) {
      T more[BALEEN_LENGTH(x)];
      r.added.load(i, more);
      for (int k = 0; k < BALEEN_LENGTH(x); ++k) x[k] = add_apart(as_stored(args.dx, x[k]), more[k]);
    }
    r.dx.store(i, x);
  });
}

template <class T, int kMost>
__device__ void norm_grad(const NormGradArgs& args) {
  T* sums = reinterpret_cast<T*>(BALEEN_SHARED_MEMORY());
  const int64_t width = args.rows.width, columns = args.has_beta ? 2 * width : width;
  // A column is one thread's from beginning to end, so no barrier stands between its uses.
  each<kMost>(width, [&](auto count, int64_t i) {
    constexpr int n = decltype(count)::value;
    for (int k = 0; k < n; ++k)
      for (int64_t column = slot<n>(width, i, k); column < columns; column += width) sums[column] = 0;
  });
  const int64_t rows = args.rows.leading.size;
  const int64_t begin = rows * blockIdx.x / gridDim.x, end = rows * (blockIdx.x + 1) / gridDim.x;
  for (int64_t row = begin; row < end; ++row) norm_grad_row<T, kMost>(args, row, sums);
  T* out = static_cast<T*>(args.partials) + blockIdx.x * columns;
  each<kMost>(width, [&](auto count, int64_t i) {
    constexpr int n = decltype(count)::value;
    for (int k = 0; k < n; ++k) {
      out[i + k] = sums[slot<n>(width, i, k)];
      if (args.has_beta) out[width + i + k] = sums[width + slot<n>(width, i, k)];
    }
  });
}

/// Blocks of 32 columns by 32 parts of the blocks' sums.
template <class T>
__device__ void norm_grad_sum(const NormGradSumArgs& args) {
  __shared__ T parts[32][33];
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  const int64_t columns = args.dbeta.data ? 2 * args.width : args.width;
  T sum = 0;
  for (int64_t block = part; block < args.blocks && column < columns; block += 32)
    sum += static_cast<const T*>(args.partials)[block * columns + column];
  parts[lane][part] = sum;
  __syncthreads();
  // Each warp adds the parts of one column.
  sum = fold_warp<Sum<T>>(parts[part][lane]);
  const int64_t mine = static_cast<int64_t>(blockIdx.x) * 32 + part;
  if (lane != 0 || mine >= columns) return;
  if (mine < args.width)
    store(args.dgamma, mine * args.dgamma_stride, sum);
  else
    store(args.dbeta, (mine - args.width) * args.dbeta_stride, sum);
}

}  // namespace

BALEEN_KERNEL(1024, baleen_norm_f32, NormArgs) { args.rows.packs ? norm<float, kPack>(args) : norm<float, 1>(args); }
BALEEN_KERNEL(1024, baleen_norm_f64, NormArgs) { norm<double, 1>(args); }
BALEEN_KERNEL(1024, baleen_norm_grad_f32, NormGradArgs) {
  args.rows.packs ? norm_grad<float, kPack>(args) : norm_grad<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_norm_grad_f64, NormGradArgs) { norm_grad<double, 1>(args); }
BALEEN_KERNEL(1024, baleen_norm_grad_sum_f32, NormGradSumArgs) { norm_grad_sum<float>(args); }
BALEEN_KERNEL(1024, baleen_norm_grad_sum_f64, NormGradSumArgs) { norm_grad_sum<double>(args); }

}  // namespace baleen::cuda
