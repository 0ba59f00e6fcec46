/// \file softmax over the last dimension and its gradient: a block per row.
#include "row.cuh"

namespace baleen::cuda {
namespace {

template <class T, int kMost>
__device__ void softmax(const SoftmaxArgs& args) {
  int64_t at[2];
  args.rows.leading.offsets(blockIdx.x, at);
  const Row<T> from{args.x, at[0], args.rows.inner[0]}, to{args.y, at[1], args.rows.inner[1]};
  const Softened<T> row = soften<kMost, T>(from, args.rows.width);
  const T factor = T(1) / row.sum;
  each_of<kMost>(args.rows.width, from, [&](int64_t i, auto& x) {
    for (T& one : x) one = exp(one - row.peak) * factor;
    to.store(i, x);
  });
}

template <class T, int kMost>
__device__ void softmax_grad(const SoftmaxGradArgs& args) {
  int64_t at[3];
  args.rows.leading.offsets(blockIdx.x, at);
  const Row<T> y{args.y, at[0], args.rows.inner[0]}, dy{args.dy, at[1], args.rows.inner[1]},
      dx{args.dx, at[2], args.rows.inner[2]};
  T sum = 0;
  each_of<kMost>(args.rows.width, y, dy, [&](int64_t, auto& p, auto& d) {
    for (int k = 0; k < BALEEN_LENGTH(p); ++k) sum += p[k] * d[k];
  });
  sum = fold_block<Sum<T>>(sum);
  each_of<kMost>(args.rows.width, y, dy, [&](int64_t i, auto& p, auto& d) {
    for (int k = 0; k < BALEEN_LENGTH(p); ++k) d[k] = p[k] * (d[k] - sum);
    dx.store(i, d);
  });
}

}  // namespace

BALEEN_KERNEL(1024, baleen_softmax_f32, SoftmaxArgs) {
  args.rows.packs ? softmax<float, kPack>(args) : softmax<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_softmax_f64, SoftmaxArgs) { softmax<double, 1>(args); }
BALEEN_KERNEL(1024, baleen_softmax_grad_f32, SoftmaxGradArgs) {
  args.rows.packs ? softmax_grad<float, kPack>(args) : softmax_grad<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_softmax_grad_f64, SoftmaxGradArgs) { softmax_grad<double, 1>(args); }

}  // namespace baleen::cuda
