/// \file Cross entropy of rows of logits and its gradient: a block per row. Also of the chunks of the op that is fused
/// with its matmul.
#include "row.cuh"

namespace baleen::cuda {
namespace {

template <class T, int kMost>
__device__ void cross_entropy(const CrossEntropyArgs& args) {
  int64_t at[4], chunk[4];
  args.rows.leading.offsets(blockIdx.x, chunk);
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const Row<T> logits{args.x, chunk[0], args.rows.inner[0]};
  const int64_t width = args.rows.width;
  const Softened<T> row = soften<kMost>(logits, width);
  const T smoothing = static_cast<T>(args.smoothing);
  T total = 0;
  if (smoothing != T(0)) {
    each_of<kMost>(width, logits, [&](int64_t, auto& x) {
      for (const T one : x) total += one;
    });
    total = fold_block<Sum<T>>(total);
  }
  if (threadIdx.x != 0) return;
  const bool finite = row.peak - row.peak == T(0);
  const T lse = finite ? row.peak + log(row.sum) : row.peak;
  store(args.lse, at[3], lse);
  const int32_t target = args.target[at[1]];
  T loss = 0;
  if (check_id(args.report, args.range, args.first_row + blockIdx.x, target) && target != args.range.ignore) {
    loss = lse - load<T>(args.x, chunk[0] + target * logits.inner);
    if (smoothing != T(0)) loss = (T(1) - smoothing) * loss + smoothing * (lse - total / static_cast<T>(width));
  }
  store(args.loss, at[2], loss);
}

template <class T, int kMost>
__device__ void cross_entropy_grad(const CrossEntropyGradArgs& args) {
  int64_t at[5], chunk[5];
  args.rows.leading.offsets(blockIdx.x, chunk);
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const Row<T> logits{args.x, chunk[0], args.rows.inner[0]}, dlogits{args.dx, chunk[1], args.rows.inner[1]};
  const int32_t target = args.target[at[2]];
  if (threadIdx.x == 0) check_id(args.report, args.range, args.first_row + blockIdx.x, target);
  const bool ignored = target == args.range.ignore;
  const T lse = load<T>(args.lse, at[3]), dloss = load<T>(args.dloss, at[4]);
  const T smoothing = static_cast<T>(args.smoothing), spread = smoothing / static_cast<T>(args.range.limit);
  const int64_t held = ignored ? -1 : args.held.find(target);
  each_of<kMost>(args.rows.width, logits, [&](int64_t i, auto& x) {
    for (int k = 0; k < BALEEN_LENGTH(x); ++k) {
      x[k] = ignored ? T(0) : (exp(x[k] - lse) - spread) * dloss;
      if (i + k == held) x[k] -= (T(1) - smoothing) * dloss;
    }
    dlogits.store(i, x);
  });
}

}  // namespace

BALEEN_KERNEL(1024, baleen_cross_entropy_f32, CrossEntropyArgs) {
  args.rows.packs ? cross_entropy<float, kPack>(args) : cross_entropy<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_cross_entropy_f64, CrossEntropyArgs) { cross_entropy<double, 1>(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f32, CrossEntropyGradArgs) {
  args.rows.packs ? cross_entropy_grad<float, kPack>(args) : cross_entropy_grad<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f64, CrossEntropyGradArgs) { cross_entropy_grad<double, 1>(args); }

}  // namespace baleen::cuda
