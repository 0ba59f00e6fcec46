/// \file Cross entropy of rows of logits and its gradient: a block per row. Also of the chunks of the op that is fused
/// with its matmul.
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {
namespace {

template <class S>
__device__ void cross_entropy(const CrossEntropyArgs& args) {
  using T = Compute<S>;
  int64_t at[4], chunk[4];
  args.rows.leading.offsets(blockIdx.x, chunk);
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const S* x = static_cast<const S*>(args.x) + chunk[0];
  const int64_t width = args.rows.width, inner = args.rows.inner[0];
  T peak = Largest<T>::empty(), sum = 0, total = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) {
    const T value = static_cast<T>(x[i * inner]);
    peak = Largest<T>::of(peak, value);
    total += value;
  }
  peak = fold_block<Largest<T>>(peak);
  const bool finite = peak - peak == T(0);
  for (int64_t i = threadIdx.x; finite && i < width; i += blockDim.x) sum += exp(static_cast<T>(x[i * inner]) - peak);
  sum = fold_block<Sum<T>>(sum);
  const T smoothing = static_cast<T>(args.smoothing);
  if (smoothing != T(0)) total = fold_block<Sum<T>>(total);
  if (threadIdx.x != 0) return;
  const T lse = finite ? peak + log(sum) : peak;
  static_cast<T*>(args.lse)[at[3]] = lse;
  const int32_t target = args.target[at[1]];
  T loss = 0;
  if (check_id(args.report, args.range, args.first_row + blockIdx.x, target) && target != args.range.ignore) {
    loss = lse - static_cast<T>(x[target * inner]);
    if (smoothing != T(0)) loss = (T(1) - smoothing) * loss + smoothing * (lse - total / static_cast<T>(width));
  }
  static_cast<T*>(args.loss)[at[2]] = loss;
}

template <class S>
__device__ void cross_entropy_grad(const CrossEntropyGradArgs& args) {
  using T = Compute<S>;
  int64_t at[5], chunk[5];
  args.rows.leading.offsets(blockIdx.x, chunk);
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const S* x = static_cast<const S*>(args.x) + chunk[0];
  S* dx = static_cast<S*>(args.dx) + chunk[1];
  const int32_t target = args.target[at[2]];
  if (threadIdx.x == 0) check_id(args.report, args.range, args.first_row + blockIdx.x, target);
  const bool ignored = target == args.range.ignore;
  const T lse = static_cast<const T*>(args.lse)[at[3]], dloss = static_cast<const T*>(args.dloss)[at[4]];
  const T smoothing = static_cast<T>(args.smoothing), spread = smoothing / static_cast<T>(args.range.limit);
  const int64_t held = ignored ? -1 : args.held.find(target);
  for (int64_t i = threadIdx.x; i < args.rows.width; i += blockDim.x) {
    T value = ignored ? T(0) : (exp(static_cast<T>(x[i * args.rows.inner[0]]) - lse) - spread) * dloss;
    if (i == held) value -= (T(1) - smoothing) * dloss;
    dx[i * args.rows.inner[1]] = static_cast<S>(value);
  }
}

}  // namespace

BALEEN_KERNEL(1024, baleen_cross_entropy_f32, CrossEntropyArgs) { cross_entropy<float>(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_f64, CrossEntropyArgs) { cross_entropy<double>(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f32, CrossEntropyGradArgs) { cross_entropy_grad<float>(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f64, CrossEntropyGradArgs) { cross_entropy_grad<double>(args); }

}  // namespace baleen::cuda
