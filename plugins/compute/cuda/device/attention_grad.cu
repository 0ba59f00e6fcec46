/// \file Attention backward, without sums whose order is open: one kernel for dk and dv (a block per tile of keys of a
/// group), one for dq (a block per tile of queries of a head). Both compute the scores again from lse.
#include "attention_tile.cuh"

namespace baleen::cuda {
namespace {

/// The block's shared memory: four operands, two sums, and p and ds of a tile.
template <class T>
struct Tiles {
  __device__ Tiles(const AttentionArgs& args, T* memory)
      : tile(args.query_tile),
        pitch(args.width + 1),
        q(memory),
        d_o(q + tile * pitch),
        k(d_o + tile * pitch),
        v(k + tile * pitch),
        first(v + tile * pitch),
        second(first + tile * pitch),
        p(second + tile * pitch),
        ds(p + tile * (tile + 1)),
        lse(ds + tile * (tile + 1)),
        delta(lse + tile) {}
  int tile, pitch;
  T *q, *d_o, *k, *v, *first, *second, *p, *ds, *lse, *delta;
};

template <class T>
__device__ void attention_delta(const AttentionGradArgs& args) {
  const AttentionArgs& f = args.forward;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (row >= f.batch * f.heads * f.queries) return;
  const int64_t b = row / (f.heads * f.queries), h = row / f.queries % f.heads, s = row % f.queries;
  const int64_t o = b * f.o_view.batch + s * f.o_view.sequence + h * f.o_view.head;
  const int64_t d_o = b * args.do_view.batch + s * args.do_view.sequence + h * args.do_view.head;
  T sum = 0;
  for (int64_t e = threadIdx.x % 32; e < f.width; e += 32)
    sum += load<T>(f.o, o + e * f.o_view.inner) * load<T>(args.d_o, d_o + e * args.do_view.inner);
  sum = fold_warp<Sum<T>>(sum);
  if (threadIdx.x % 32 == 0) static_cast<T*>(args.delta)[row] = sum;
}

template <class T>
__device__ void load_queries(const AttentionGradArgs& args, Tiles<T>& tiles, int64_t b, int64_t h, int64_t query) {
  const AttentionArgs& f = args.forward;
  const int tile = tiles.tile;
  load_tile(tiles.q, f.q, b * f.q_view.batch + h * f.q_view.head, f.q_view.sequence, f.q_view.inner, query, f.queries,
            tile, f.width);
  load_tile(tiles.d_o, args.d_o, b * args.do_view.batch + h * args.do_view.head, args.do_view.sequence,
            args.do_view.inner, query, f.queries, tile, f.width);
  for (int i = static_cast<int>(threadIdx.x); i < tile; i += static_cast<int>(blockDim.x)) {
    const int64_t s = query + i;
    const bool in = s < f.queries;
    tiles.lse[i] = in ? load<T>(f.lse, b * f.lse_view.batch + h * f.lse_view.head + s * f.lse_view.sequence) : T(0);
    tiles.delta[i] = in ? static_cast<const T*>(args.delta)[(b * f.heads + h) * f.queries + s] : T(0);
  }
}

template <class T>
__device__ void load_keys(const AttentionArgs& f, Tiles<T>& tiles, int64_t b, int64_t g, int64_t key) {
  const int tile = tiles.tile;
  load_tile(tiles.k, f.k, b * f.k_view.batch + g * f.k_view.head, f.k_view.sequence, f.k_view.inner, key, f.keys, tile,
            f.width);
  load_tile(tiles.v, f.v, b * f.v_view.batch + g * f.v_view.head, f.v_view.sequence, f.v_view.inner, key, f.keys, tile,
            f.width);
}

/// p and ds of the tile: p = exp(score - lse), ds = scale p (dp - delta).
template <class T>
__device__ void probabilities(const AttentionArgs& f, Tiles<T>& tiles, int64_t b, int64_t query, int64_t key) {
  const T scale = static_cast<T>(f.scale);
  const int items = tiles.tile / kTogether * tiles.tile;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const int row = item / tiles.tile * kTogether, column = item % tiles.tile;
    T scores[kTogether], dp[kTogether];
    dot_rows(tiles.q + row * tiles.pitch, tiles.pitch, tiles.k + column * tiles.pitch, f.width, scores);
    dot_rows(tiles.d_o + row * tiles.pitch, tiles.pitch, tiles.v + column * tiles.pitch, f.width, dp);
    for (int i = 0; i < kTogether; ++i) {
      const bool seen = sees(f, b, query + row + i, key + column);
      const T p = seen ? exp(scale * scores[i] - tiles.lse[row + i]) : T(0);
      const int at = (row + i) * (tiles.tile + 1) + column;
      tiles.p[at] = p;
      tiles.ds[at] = seen ? scale * p * (dp[i] - tiles.delta[row + i]) : T(0);
    }
  }
}

/// sums[key] += over the tile's queries: weight[query, key] rows[query].
template <class T>
__device__ void add_transposed(const Tiles<T>& tiles, int width, T* sums, const T* weight, const T* rows) {
  const int items = tiles.tile / kTogether * width;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const int row = item / width * kTogether, column = item % width;
    T parts[kTogether] = {};
    for (int s = 0; s < tiles.tile; ++s) {
      const T value = rows[s * tiles.pitch + column];
      for (int i = 0; i < kTogether; ++i) parts[i] += weight[s * (tiles.tile + 1) + row + i] * value;
    }
    for (int i = 0; i < kTogether; ++i) sums[(row + i) * tiles.pitch + column] += parts[i];
  }
}

/// sums[query] += over the tile's keys: weight[query, key] rows[key].
template <class T>
__device__ void add_product(const Tiles<T>& tiles, int width, T* sums, const T* weight, const T* rows) {
  const int items = tiles.tile / kTogether * width;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const int row = item / width * kTogether, column = item % width;
    T parts[kTogether] = {};
    for (int t = 0; t < tiles.tile; ++t) {
      const T value = rows[t * tiles.pitch + column];
      for (int i = 0; i < kTogether; ++i) parts[i] += weight[(row + i) * (tiles.tile + 1) + t] * value;
    }
    for (int i = 0; i < kTogether; ++i) sums[(row + i) * tiles.pitch + column] += parts[i];
  }
}

template <class T>
__device__ void store_tile(const Values& to, const HeadsView& view, int64_t b, int64_t head, const T* from, int pitch,
                           int64_t begin, int64_t end, int tile, int width) {
  for (int i = static_cast<int>(threadIdx.x); i < tile * width; i += static_cast<int>(blockDim.x)) {
    const int row = i / width, column = i - row * width;
    if (begin + row < end)
      store(to, b * view.batch + (begin + row) * view.sequence + head * view.head + column * view.inner,
            from[row * pitch + column]);
  }
}

template <class T>
__device__ void attention_dkv(const AttentionGradArgs& args) {
  const AttentionArgs& f = args.forward;
  Tiles<T> tiles(f, reinterpret_cast<T*>(BALEEN_SHARED_MEMORY()));
  const int64_t tile_count = (f.keys + tiles.tile - 1) / tiles.tile;
  const int64_t key = blockIdx.x % tile_count * tiles.tile, bg = blockIdx.x / tile_count;
  const int64_t b = bg / f.groups, g = bg % f.groups, together = f.heads / f.groups;
  load_keys(f, tiles, b, g, key);
  for (int i = static_cast<int>(threadIdx.x); i < 2 * tiles.tile * tiles.pitch; i += static_cast<int>(blockDim.x))
    tiles.first[i] = 0;
  // Queries before this one see none of these keys.
  const int64_t least = key - f.reach + 1, first = least > 0 ? least / tiles.tile * tiles.tile : 0;
  for (int64_t h = g * together; h < (g + 1) * together; ++h)
    for (int64_t query = first; query < f.queries; query += tiles.tile) {
      __syncthreads();
      load_queries(args, tiles, b, h, query);
      __syncthreads();
      probabilities(f, tiles, b, query, key);
      __syncthreads();
      add_transposed(tiles, f.width, tiles.first, tiles.ds, tiles.q);
      add_transposed(tiles, f.width, tiles.second, tiles.p, tiles.d_o);
    }
  __syncthreads();
  store_tile(args.dk, args.dk_view, b, g, tiles.first, tiles.pitch, key, f.keys, tiles.tile, f.width);
  store_tile(args.dv, args.dv_view, b, g, tiles.second, tiles.pitch, key, f.keys, tiles.tile, f.width);
}

template <class T>
__device__ void attention_dq(const AttentionGradArgs& args) {
  const AttentionArgs& f = args.forward;
  Tiles<T> tiles(f, reinterpret_cast<T*>(BALEEN_SHARED_MEMORY()));
  const int64_t tile_count = (f.queries + tiles.tile - 1) / tiles.tile;
  const int64_t query = (tile_count - 1 - blockIdx.x % tile_count) * tiles.tile, bh = blockIdx.x / tile_count;
  const int64_t b = bh / f.heads, h = bh % f.heads, g = h / (f.heads / f.groups);
  load_queries(args, tiles, b, h, query);
  for (int i = static_cast<int>(threadIdx.x); i < tiles.tile * tiles.pitch; i += static_cast<int>(blockDim.x))
    tiles.first[i] = 0;
  const int64_t end = last_key(f, query, tiles.tile);
  for (int64_t key = 0; key < end; key += tiles.tile) {
    __syncthreads();
    load_keys(f, tiles, b, g, key);
    __syncthreads();
    probabilities(f, tiles, b, query, key);
    __syncthreads();
    add_product(tiles, f.width, tiles.first, tiles.ds, tiles.k);
  }
  __syncthreads();
  store_tile(args.dq, args.dq_view, b, h, tiles.first, tiles.pitch, query, f.queries, tiles.tile, f.width);
}

}  // namespace

BALEEN_KERNEL(256, baleen_attention_delta_f32, AttentionGradArgs) { attention_delta<float>(args); }
BALEEN_KERNEL(256, baleen_attention_delta_f64, AttentionGradArgs) { attention_delta<double>(args); }
BALEEN_KERNEL(256, baleen_attention_dkv_f32, AttentionGradArgs) { attention_dkv<float>(args); }
BALEEN_KERNEL(256, baleen_attention_dkv_f64, AttentionGradArgs) { attention_dkv<double>(args); }
BALEEN_KERNEL(256, baleen_attention_dq_f32, AttentionGradArgs) { attention_dq<float>(args); }
BALEEN_KERNEL(256, baleen_attention_dq_f64, AttentionGradArgs) { attention_dq<double>(args); }

}  // namespace baleen::cuda
