/// \file Cross entropy of rows of logits and its gradient: a block per row. Also of the chunks of the op that is fused
/// with its matmul.
#include "row.cuh"

namespace baleen::cuda {
namespace {

/// A row of fp32 in the block's shared memory; each thread uses the elements that each() gives it.
struct SharedRow {
  float* values;

  template <int n>
  __device__ __forceinline__ void load(int64_t i, float (&out)[n]) const {
    const auto pack = *reinterpret_cast<const Packed<float, n>*>(values + i);
    for (int k = 0; k < n; ++k) out[k] = pack.at[k];
  }
  template <int n>
  __device__ __forceinline__ void store(int64_t i, const float (&in)[n]) const {
    Packed<float, n> pack;
    for (int k = 0; k < n; ++k) pack.at[k] = in[k];
    *reinterpret_cast<Packed<float, n>*>(values + i) = pack;
  }
};

/// A row of logits that is put into shared memory by whoever reads it.
struct KeptRow {
  Row<float> row;
  SharedRow kept;

  template <int n>
  __device__ __forceinline__ void load(int64_t i, float (&out)[n]) const {
    row.load(i, out);
    kept.store(i, out);
  }
};

/// Loss and lse of a row of logits, read from `first`, and `again` where it is needed a second time. Returns lse.
template <class T, int kMost, class First, class Again>
__device__ T row_loss(const CrossEntropyArgs& args, const First& first, const Again& again) {
  int64_t at[4];
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const int64_t width = args.rows.width;
  const Softened<T> row = soften<kMost, T>(first, width);
  const T smoothing = static_cast<T>(args.smoothing);
  T total = 0;
  if (smoothing != T(0)) {
    each<kMost>(width, [&](auto count, int64_t i) {
      T x[decltype(count)::value];
      again.load(i, x);
      for (const T one : x) total += one;
    });
    total = fold_block<Sum<T>>(total);
  }
  const bool finite = row.peak - row.peak == T(0);
  const T lse = finite ? row.peak + log(row.sum) : row.peak;
  if (threadIdx.x != 0) return lse;
  store(args.lse, at[3], lse);
  const int32_t target = args.target[at[1]];
  T loss = 0;
  if (check_id(args.report, args.range, args.first_row + blockIdx.x, target) && target != args.range.ignore) {
    T logit[1];
    again.load(target, logit);
    loss = lse - logit[0];
    if (smoothing != T(0)) loss = (T(1) - smoothing) * loss + smoothing * (lse - total / static_cast<T>(width));
  }
  store(args.loss, at[2], loss);
  return lse;
}

template <class T>
__device__ Row<T> row_of_logits(const Values& x, const Rows<4>& rows) {
  int64_t chunk[4];
  rows.leading.offsets(blockIdx.x, chunk);
  return {x, chunk[0], rows.inner[0]};
}

template <class T, int kMost>
__device__ void cross_entropy(const CrossEntropyArgs& args) {
  const Row<T> logits = row_of_logits<T>(args.x, args.rows);
  row_loss<T, kMost>(args, logits, logits);
}

/// The gradient of a row of logits. `lse` is null where it lies in memory.
template <class T, int kMost, class Logits>
__device__ void row_gradient(const CrossEntropyGradArgs& args, const Logits& logits, const T* known_lse) {
  int64_t at[5], chunk[5];
  args.rows.leading.offsets(blockIdx.x, chunk);
  args.rows.leading.offsets(args.first_row + blockIdx.x, at);
  const Row<T> dlogits{args.dx, chunk[1], args.rows.inner[1]};
  const int32_t target = args.target[at[2]];
  if (threadIdx.x == 0) check_id(args.report, args.range, args.first_row + blockIdx.x, target);
  const bool ignored = target == args.range.ignore;
  const T lse = known_lse ? *known_lse : load<T>(args.lse, at[3]), dloss = load<T>(args.dloss, at[4]);
  const T smoothing = static_cast<T>(args.smoothing), spread = smoothing / static_cast<T>(args.range.limit);
  const int64_t held = ignored ? -1 : args.held.find(target);
  each<kMost>(args.rows.width, [&](auto count, int64_t i) {
    T x[decltype(count)::value];
    logits.load(i, x);
    for (int k = 0; k < BALEEN_LENGTH(x); ++k) {
      x[k] = ignored ? T(0) : (exp(x[k] - lse) - spread) * dloss;
      if (i + k == held) x[k] -= (T(1) - smoothing) * dloss;
    }
    dlogits.store(i, x);
  });
}

template <class T, int kMost>
__device__ void cross_entropy_grad(const CrossEntropyGradArgs& args) {
  int64_t chunk[5];
  args.rows.leading.offsets(blockIdx.x, chunk);
  row_gradient<T, kMost>(args, Row<T>{args.x, chunk[0], args.rows.inner[0]}, static_cast<const T*>(nullptr));
}

/// The same numbers as one after the other.
__device__ void cross_entropy_both(const CrossEntropyBothArgs& args) {
  const SharedRow kept{reinterpret_cast<float*>(BALEEN_SHARED_MEMORY())};
  const Row<float> logits = row_of_logits<float>(args.loss.x, args.loss.rows);
  const float lse = row_loss<float, kPack>(args.loss, KeptRow{logits, kept}, kept);
  row_gradient<float, kPack>(args.grad, kept, &lse);
}

}  // namespace

BALEEN_KERNEL(1024, baleen_cross_entropy_both_f32, CrossEntropyBothArgs) { cross_entropy_both(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_f32, CrossEntropyArgs) {
  args.rows.packs ? cross_entropy<float, kPack>(args) : cross_entropy<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_cross_entropy_f64, CrossEntropyArgs) { cross_entropy<double, 1>(args); }
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f32, CrossEntropyGradArgs) {
  args.rows.packs ? cross_entropy_grad<float, kPack>(args) : cross_entropy_grad<float, 1>(args);
}
BALEEN_KERNEL(1024, baleen_cross_entropy_grad_f64, CrossEntropyGradArgs) { cross_entropy_grad<double, 1>(args); }

}  // namespace baleen::cuda
