/// \file The gradient of embedding: positions are sorted by the row that they select, ascending within a row, and then
/// added in this order.
#include "row.cuh"
#include "sort.hpp"

namespace baleen::cuda {
namespace {

/// Lanes that have the same digit as this one.
__device__ __forceinline__ unsigned same_digit(unsigned active, unsigned digit) {
  unsigned same = active;
  for (int bit = 0; bit < kDigitBits; ++bit) {
    const bool mine = (digit >> bit & 1u) != 0;
    const unsigned set = __ballot_sync(0xffffffffu, mine ? 1 : 0);
    same &= mine ? set : ~set;
  }
  return same;
}

/// Goes through a warp's tile 32 keys at a time: body(position, whether there is one, its digit, the lanes of the same
/// digit, how many of them come before this one).
template <class Body>
__device__ __forceinline__ void each_of_tile(const SortPassArgs& args, int64_t tile, const Body& body) {
  const unsigned lane = threadIdx.x % 32;
  for (int i = 0; i < kSortTile; i += 32) {
    const int64_t at = tile * kSortTile + i + static_cast<int64_t>(lane);
    const bool is = tile < args.tiles && at < args.size;
    const unsigned digit = is ? args.keys[at] >> args.shift & (kDigits - 1u) : 0u;
    const unsigned active = __ballot_sync(0xffffffffu, is ? 1 : 0);
    const unsigned same = same_digit(active, digit);
    body(at, is, digit, same, __popc(same & ((1u << lane) - 1u)));
  }
}

__device__ __forceinline__ int64_t tile_of_warp() {
  return static_cast<int64_t>(blockIdx.x) * kSortWarps + threadIdx.x / 32;
}

__device__ void sort_keys(const SortKeysArgs& args) {
  const int64_t all = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t p = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; p < args.walk.size; p += all) {
    int64_t at[1];
    args.walk.offsets(p, at);
    const int32_t id = args.ids[at[0]];
    check_id(args.report, args.range, p, id);
    const int64_t held = args.held.find(id);
    args.keys[p] = held < 0 ? args.rows : static_cast<uint32_t>(held);
    args.positions[p] = static_cast<uint32_t>(p);
  }
}

__device__ void sort_count(const SortPassArgs& args) {
  __shared__ uint32_t counts[kSortWarps][kDigits];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t tile = tile_of_warp();
  for (unsigned d = lane; d < kDigits; d += 32) counts[warp][d] = 0;
  __syncwarp();
  each_of_tile(args, tile, [&](int64_t, bool is, unsigned digit, unsigned same, int before) {
    if (is && before == 0) counts[warp][digit] += static_cast<uint32_t>(__popc(same));
    __syncwarp();
  });
  if (tile >= args.tiles) return;
  for (unsigned d = lane; d < kDigits; d += 32) args.counts[d * args.tiles + tile] = counts[warp][d];
}

/// One block; each thread has a stretch.
__device__ void sort_scan(const SortScanArgs& args) {
  __shared__ uint32_t sums[1024];
  const int64_t each = (args.size + blockDim.x - 1) / blockDim.x, first = each * threadIdx.x;
  const int64_t end = first + each < args.size ? first + each : args.size;
  uint32_t sum = 0;
  for (int64_t i = first; i < end; ++i) sum += args.counts[i];
  sums[threadIdx.x] = sum;
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    __syncthreads();
    const uint32_t before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += before;
  }
  uint32_t next = sums[threadIdx.x] - sum;
  for (int64_t i = first; i < end; ++i) {
    const uint32_t count = args.counts[i];
    args.counts[i] = next;
    next += count;
  }
}

__device__ void sort_scatter(const SortPassArgs& args) {
  __shared__ uint32_t next[kSortWarps][kDigits];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t tile = tile_of_warp();
  for (unsigned d = lane; d < kDigits; d += 32)
    next[warp][d] = tile < args.tiles ? args.counts[d * args.tiles + tile] : 0;
  __syncwarp();
  each_of_tile(args, tile, [&](int64_t at, bool is, unsigned digit, unsigned same, int before) {
    const uint32_t to = next[warp][digit] + static_cast<uint32_t>(before);
    __syncwarp();
    if (is && before == 0) next[warp][digit] += static_cast<uint32_t>(__popc(same));
    __syncwarp();
    if (!is) return;
    args.keys_out[to] = args.keys[at];
    args.positions_out[to] = args.positions[at];
  });
}

/// The run of `key` that begins at the sorted position `begin`.
template <class T, class Load, int kMost>
__device__ __forceinline__ void sum_run(const SumRowsArgs& args, int64_t begin, uint32_t key) {
  constexpr int kAhead = 8;
  each<kMost>(args.row.size, [&](auto number, int64_t i) {
    constexpr int n = decltype(number)::value;
    int64_t at[2] = {i, i};
    if (kMost == 1) args.row.offsets(i, at);
    T sum[n] = {};
    for (int64_t e = begin; e < args.size && args.keys[e] == key; e += kAhead) {
      // Behind its end the run's first row is loaded again and not added: no load waits for a branch.
      T x[kAhead][n];
      bool is[kAhead];
      BALEEN_UNROLL
      for (int j = 0; j < kAhead; ++j) {
        is[j] = e + j < args.size && args.keys[e + j] == key;
        int64_t place[2];
        args.places.offsets(args.positions[is[j] ? e + j : begin], place);
        Load::load(args.dy, place[1] + at[1], x[j]);
      }
      BALEEN_UNROLL
      for (int j = 0; j < kAhead; ++j)
        for (int k = 0; k < n; ++k) sum[k] = is[j] ? sum[k] + x[j][k] : sum[k];
    }
    store_pack(args.dtable, key * args.table_stride + at[0], sum);
  });
}

template <class T, class Load, int kMost>
__device__ void sum_rows(const SumRowsArgs& args) {
  for (int64_t e = blockIdx.x * static_cast<int64_t>(kSumBlock), end = e + kSumBlock; e < end && e < args.size; ++e) {
    const uint32_t key = args.keys[e];
    if (key < args.rows && (e == 0 || args.keys[e - 1] != key)) sum_run<T, Load, kMost>(args, e, key);
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_sort_keys, SortKeysArgs) { sort_keys(args); }
BALEEN_KERNEL(128, baleen_sort_count, SortPassArgs) { sort_count(args); }
BALEEN_KERNEL(1024, baleen_sort_scan, SortScanArgs) { sort_scan(args); }
BALEEN_KERNEL(128, baleen_sort_scatter, SortPassArgs) { sort_scatter(args); }
BALEEN_KERNEL(256, baleen_sum_rows_f32, SumRowsArgs) {
  if (!args.packs)
    sum_rows<float, LoadAny, 1>(args);
  else if (args.dy.stored == kStoredF32)
    sum_rows<float, LoadAs<float>, kPack>(args);
  else if (args.dy.stored == kStoredBf16)
    sum_rows<float, LoadAs<__nv_bfloat16>, kPack>(args);
  else
    sum_rows<float, LoadAs<__half>, kPack>(args);
}
BALEEN_KERNEL(256, baleen_sum_rows_f64, SumRowsArgs) { sum_rows<double, LoadAny, 1>(args); }

}  // namespace baleen::cuda
