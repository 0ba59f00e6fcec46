/// \file softmax over the last dimension and its gradient: a block per row.
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {
namespace {

template <class S>
__device__ void softmax(const SoftmaxArgs& args) {
  using T = Compute<S>;
  int64_t at[2];
  args.rows.leading.offsets(blockIdx.x, at);
  const S* x = static_cast<const S*>(args.x) + at[0];
  S* y = static_cast<S*>(args.y) + at[1];
  T peak = Largest<T>::empty();
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x)
    peak = Largest<T>::of(peak, static_cast<T>(x[i * args.rows.inner[0]]));
  peak = fold_block<Largest<T>>(peak);
  T sum = 0;
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x)
    sum += exp(static_cast<T>(x[i * args.rows.inner[0]]) - peak);
  const T factor = T(1) / fold_block<Sum<T>>(sum);
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x)
    y[i * args.rows.inner[1]] = static_cast<S>(exp(static_cast<T>(x[i * args.rows.inner[0]]) - peak) * factor);
}

template <class S>
__device__ void softmax_grad(const SoftmaxGradArgs& args) {
  using T = Compute<S>;
  int64_t at[3];
  args.rows.leading.offsets(blockIdx.x, at);
  const S *y = static_cast<const S*>(args.y) + at[0], *dy = static_cast<const S*>(args.dy) + at[1];
  S* dx = static_cast<S*>(args.dx) + at[2];
  T sum = 0;
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x)
    sum += static_cast<T>(y[i * args.rows.inner[0]]) * static_cast<T>(dy[i * args.rows.inner[1]]);
  sum = fold_block<Sum<T>>(sum);
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x) {
    const T p = static_cast<T>(y[i * args.rows.inner[0]]), d = static_cast<T>(dy[i * args.rows.inner[1]]);
    dx[i * args.rows.inner[2]] = static_cast<S>(p * (d - sum));
  }
}

}  // namespace

BALEEN_KERNEL(1024, baleen_softmax_f32, SoftmaxArgs) { softmax<float>(args); }
BALEEN_KERNEL(1024, baleen_softmax_f64, SoftmaxArgs) { softmax<double>(args); }
BALEEN_KERNEL(1024, baleen_softmax_grad_f32, SoftmaxGradArgs) { softmax_grad<float>(args); }
BALEEN_KERNEL(1024, baleen_softmax_grad_f64, SoftmaxGradArgs) { softmax_grad<double>(args); }

}  // namespace baleen::cuda
