/// \file embedding, and its gradient in ascending position: a warp owns a row of the table, looks through all ids for
/// its own, and adds their rows one after the other. Looking through costs ids x rows comparisons, shared by blocks of
/// 8 rows.
#include "move.hpp"
#include "row.cuh"

namespace baleen::cuda {
namespace {

constexpr int kStage = 1024;  // ids that a block looks at together

template <class T, int kMost>
__device__ void embedding(const EmbeddingArgs& args) {
  int64_t position[2];
  args.positions.offsets(blockIdx.x, position);
  const int32_t id = args.ids[position[0]];
  const bool right = check_id(args.report, args.range, blockIdx.x, id);
  const int64_t row = right ? args.held.find(id) : -1;
  if constexpr (kMost > 1) {
    const Row<T> from{args.table, row * args.table_stride, 1}, to{args.y, position[1], 1};
    each<kMost>(args.row.size, [&](auto count, int64_t i) {
      T x[decltype(count)::value] = {};
      if (row >= 0) from.load(i, x);
      to.store(i, x);
    });
  } else {
    for (int64_t i = threadIdx.x; i < args.row.size; i += blockDim.x) {
      int64_t at[2];
      args.row.offsets(i, at);
      store(args.y, position[1] + at[1], row < 0 ? T(0) : load<T>(args.table, row * args.table_stride + at[0]));
    }
  }
}

/// Calls body(Count<n>, first element) for this lane's elements of a row that lies in packs.
template <int kMost, class Body>
__device__ __forceinline__ void each_of_lane(int64_t width, const Body& body) {
  const int64_t lane = threadIdx.x % 32, packed = width / kMost * kMost;
  for (int64_t i = lane * kMost; i < packed; i += 32 * kMost) body(Count<kMost>{}, i);
  for (int64_t i = packed + lane; i < width; i += 32) body(Count<1>{}, i);
}

/// Adds dy's row at `position` to the warp's row.
template <class T, int kMost>
__device__ void add_row(const EmbeddingGradArgs& args, T* to, int64_t position) {
  int64_t from[2];
  args.positions.offsets(position, from);
  if constexpr (kMost > 1) {
    const Row<T> dy{args.dy, from[1], 1}, sums{{to, kStoredF32}, 0, 1};
    each_of_lane<kMost>(args.row.size, [&](auto count, int64_t i) {
      constexpr int n = decltype(count)::value;
      T sum[n], x[n];
      sums.load(i, sum);
      dy.load(i, x);
      for (int k = 0; k < n; ++k) sum[k] += x[k];
      sums.store(i, sum);
    });
  } else {
    for (int64_t i = threadIdx.x % 32; i < args.row.size; i += 32) {
      int64_t at[2];
      args.row.offsets(i, at);
      to[at[0]] += load<T>(args.dy, from[1] + at[1]);
    }
  }
}

template <class T, int kMost>
__device__ void embedding_grad(const EmbeddingGradArgs& args) {
  __shared__ int32_t stage[kStage];
  const unsigned lane = threadIdx.x % 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  T* to = static_cast<T*>(args.dtable) + row * args.table_stride;
  for (int64_t i = lane; row < args.rows && i < args.row.size; i += 32) {
    int64_t at[2];
    args.row.offsets(i, at);
    to[at[0]] = T(0);
  }
  for (int64_t base = 0; base < args.positions.size; base += kStage) {
    const int64_t left = args.positions.size - base;
    const int count = left < kStage ? static_cast<int>(left) : kStage;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
      int64_t at[2];
      args.positions.offsets(base + i, at);
      const int32_t id = args.ids[at[0]];
      if (blockIdx.x == 0) check_id(args.report, args.range, base + i, id);
      const int64_t held = args.held.find(id);
      stage[i] = held < 0 ? -1 : static_cast<int32_t>(held);
    }
    __syncthreads();
    for (int i = 0; i < count; i += 32) {
      const int at = i + static_cast<int>(lane);
      unsigned mine = __ballot_sync(0xffffffffu, at < count && row < args.rows && stage[at < count ? at : 0] == row);
      for (; mine != 0; mine &= mine - 1) add_row<T, kMost>(args, to, base + i + __ffs(static_cast<int>(mine)) - 1);
    }
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_embedding_f32, EmbeddingArgs) {
  args.packs ? embedding<float, kPack>(args) : embedding<float, 1>(args);
}
BALEEN_KERNEL(256, baleen_embedding_f64, EmbeddingArgs) { embedding<double, 1>(args); }
BALEEN_KERNEL(256, baleen_embedding_grad_f32, EmbeddingGradArgs) {
  args.packs ? embedding_grad<float, kPack>(args) : embedding_grad<float, 1>(args);
}
BALEEN_KERNEL(256, baleen_embedding_grad_f64, EmbeddingGradArgs) { embedding_grad<double, 1>(args); }

}  // namespace baleen::cuda
