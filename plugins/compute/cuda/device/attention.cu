/// \file Attention forward: a block per tile of queries of a head goes through the keys by tiles, with an online
/// softmax (Milakov and Gimelshein 2018; Dao et al. 2022). No S x T buffer.
#include "attention_tile.cuh"

namespace baleen::cuda {
namespace {

/// The block's shared memory.
template <class T>
struct Tiles {
  __device__ Tiles(const AttentionArgs& args, T* memory)
      : pitch(args.width + 1),
        score_pitch(args.key_tile + 1),
        q(memory),
        o(q + args.query_tile * pitch),
        k(o + args.query_tile * pitch),
        v(k + args.key_tile * pitch),
        scores(v + args.key_tile * pitch),
        peak(scores + args.query_tile * score_pitch),
        sum(peak + args.query_tile),
        factor(sum + args.query_tile) {}
  int pitch, score_pitch;
  T *q, *o, *k, *v, *scores, *peak, *sum, *factor;
};

/// Scores of the tile become exp(score - new peak); peaks, sums and the factors for what was summed before follow.
/// Eight threads share a row.
template <class T>
__device__ void soften(const AttentionArgs& args, Tiles<T>& tiles) {
  const int part = static_cast<int>(threadIdx.x % 8);
  for (int base = 0; base < args.query_tile; base += static_cast<int>(blockDim.x / 8)) {
    const int row = base + static_cast<int>(threadIdx.x / 8);
    const bool in = row < args.query_tile;
    T* scores = tiles.scores + row * tiles.score_pitch;  // of rows that are there
    T peak = Largest<T>::empty();
    for (int j = part; in && j < args.key_tile; j += 8) peak = Largest<T>::of(peak, scores[j]);
    for (int lane = 4; lane > 0; lane /= 2) peak = Largest<T>::of(peak, __shfl_xor_sync(0xffffffffu, peak, lane));
    const T before = in ? tiles.peak[row] : Largest<T>::empty();
    peak = Largest<T>::of(peak, before);
    const bool none = peak == Largest<T>::empty();  // nothing seen yet
    T sum = 0;
    for (int j = part; in && j < args.key_tile; j += 8) {
      const T p = none ? T(0) : exp(scores[j] - peak);
      scores[j] = p;
      sum += p;
    }
    for (int lane = 4; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
    __syncwarp();  // all of the row's threads have read its peak
    if (!in || part != 0) continue;
    const T factor = none ? T(1) : exp(before - peak);
    tiles.factor[row] = factor;
    tiles.sum[row] = tiles.sum[row] * factor + sum;
    tiles.peak[row] = peak;
  }
}

template <class T>
__device__ void score(const AttentionArgs& args, Tiles<T>& tiles, int64_t b, int64_t first_query, int64_t first_key) {
  const T scale = static_cast<T>(args.scale);
  const int items = args.query_tile / kTogether * args.key_tile;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const int row = item / args.key_tile * kTogether, column = item % args.key_tile;
    T sums[kTogether];
    dot_rows(tiles.q + row * tiles.pitch, tiles.pitch, tiles.k + column * tiles.pitch, args.width, sums);
    for (int i = 0; i < kTogether; ++i)
      tiles.scores[(row + i) * tiles.score_pitch + column] =
          sees(args, b, first_query + row + i, first_key + column) ? scale * sums[i] : Largest<T>::empty();
  }
}

template <class T>
__device__ void add_values(const AttentionArgs& args, Tiles<T>& tiles) {
  const int items = args.query_tile / kTogether * args.width;
  for (int item = static_cast<int>(threadIdx.x); item < items; item += static_cast<int>(blockDim.x)) {
    const int row = item / args.width * kTogether, column = item % args.width;
    const T* scores = tiles.scores + row * tiles.score_pitch;
    T sums[kTogether];
    for (int i = 0; i < kTogether; ++i) sums[i] = tiles.o[(row + i) * tiles.pitch + column] * tiles.factor[row + i];
    for (int j = 0; j < args.key_tile; ++j) {
      const T v = tiles.v[j * tiles.pitch + column];
      for (int i = 0; i < kTogether; ++i) sums[i] += scores[i * tiles.score_pitch + j] * v;
    }
    for (int i = 0; i < kTogether; ++i) tiles.o[(row + i) * tiles.pitch + column] = sums[i];
  }
}

template <class T>
__device__ void attention(const AttentionArgs& args) {
  Tiles<T> tiles(args, reinterpret_cast<T*>(BALEEN_SHARED_MEMORY()));
  const int64_t tile_count = (args.queries + args.query_tile - 1) / args.query_tile;
  // The last queries see most under a causal mask; they come first.
  const int64_t tile = tile_count - 1 - blockIdx.x % tile_count, bh = blockIdx.x / tile_count;
  const int64_t b = bh / args.heads, h = bh % args.heads, g = h / (args.heads / args.groups);
  const int64_t first = tile * args.query_tile;
  load_tile(tiles.q, args.q, b * args.q_view.batch + h * args.q_view.head, args.q_view.sequence, args.q_view.inner,
            first, args.queries, args.query_tile, args.width);
  for (int i = static_cast<int>(threadIdx.x); i < args.query_tile * tiles.pitch; i += static_cast<int>(blockDim.x))
    tiles.o[i] = 0;
  for (int i = static_cast<int>(threadIdx.x); i < args.query_tile; i += static_cast<int>(blockDim.x)) {
    tiles.peak[i] = Largest<T>::empty();
    tiles.sum[i] = 0;
  }
  const int64_t end = last_key(args, first, args.query_tile);
  for (int64_t key = 0; key < end; key += args.key_tile) {
    __syncthreads();
    load_tile(tiles.k, args.k, b * args.k_view.batch + g * args.k_view.head, args.k_view.sequence, args.k_view.inner,
              key, args.keys, args.key_tile, args.width);
    load_tile(tiles.v, args.v, b * args.v_view.batch + g * args.v_view.head, args.v_view.sequence, args.v_view.inner,
              key, args.keys, args.key_tile, args.width);
    __syncthreads();
    score(args, tiles, b, first, key);
    __syncthreads();
    soften(args, tiles);
    __syncthreads();
    add_values(args, tiles);
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < args.query_tile * args.width; i += static_cast<int>(blockDim.x)) {
    const int row = i / args.width, column = i - row * args.width;
    if (first + row >= args.queries) continue;
    const T sum = tiles.sum[row], value = sum > T(0) ? tiles.o[row * tiles.pitch + column] / sum : T(0);
    store(args.o,
          b * args.o_view.batch + (first + row) * args.o_view.sequence + h * args.o_view.head +
              column * args.o_view.inner,
          value);
  }
  for (int i = static_cast<int>(threadIdx.x); i < args.query_tile; i += static_cast<int>(blockDim.x)) {
    if (first + i >= args.queries) continue;
    const T sum = tiles.sum[i];
    store(args.lse, b * args.lse_view.batch + h * args.lse_view.head + (first + i) * args.lse_view.sequence,
          sum > T(0) ? tiles.peak[i] + log(sum) : Largest<T>::empty());
  }
}

}  // namespace

BALEEN_KERNEL(256, baleen_attention_f32, AttentionArgs) { attention<float>(args); }
BALEEN_KERNEL(256, baleen_attention_f64, AttentionArgs) { attention<double>(args); }

}  // namespace baleen::cuda
