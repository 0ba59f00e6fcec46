/// \file Tiles of attention in shared memory: loading, products, and which pairs see each other.
#pragma once
#include "attention.hpp"
#include "device.cuh"

namespace baleen::cuda {

/// Rows [begin, begin + rows) of one head into shared memory, rows of width + 1; beyond `end` zeros. Positions in tiles
/// are 32 bits wide: divisions of 64 bits are calls on a device.
template <class T>
__device__ void load_tile(T* to, const Values& from, int64_t base, int64_t sequence, int64_t inner, int64_t begin,
                          int64_t end, int rows, int width) {
  for (int i = static_cast<int>(threadIdx.x); i < rows * width; i += static_cast<int>(blockDim.x)) {
    const int row = i / width, column = i - row * width;
    const bool in = begin + row < end;
    to[row * (width + 1) + column] = in ? load<T>(from, base + (begin + row) * sequence + column * inner) : T(0);
  }
}

/// Whether query s sees key t.
__device__ __forceinline__ bool sees(const AttentionArgs& args, int64_t b, int64_t s, int64_t t) {
  if (s >= args.queries || t >= args.keys || t >= s + args.reach) return false;
  if (!args.ids_q) return true;
  const int32_t one = args.ids_q[b * args.ids_q_view.batch + s * args.ids_q_view.sequence];
  return one >= 0 && one == args.ids_k[b * args.ids_k_view.batch + t * args.ids_k_view.sequence];
}

/// Rows that a thread computes together, so that what they share is loaded once. Tiles are multiples of it.
constexpr int kTogether = 4;

/// sums[i] = the product of row i of `rows` and `other`.
template <class T>
__device__ __forceinline__ void dot_rows(const T* rows, int pitch, const T* other, int width, T (&sums)[kTogether]) {
  for (int i = 0; i < kTogether; ++i) sums[i] = 0;
  for (int e = 0; e < width; ++e) {
    const T y = other[e];
    for (int i = 0; i < kTogether; ++i) sums[i] += rows[i * pitch + e] * y;
  }
}

/// Keys that a tile of queries can see end here.
__device__ __forceinline__ int64_t last_key(const AttentionArgs& args, int64_t first_query, int64_t query_tile) {
  const int64_t last = (first_query + query_tile < args.queries ? first_query + query_tile : args.queries) - 1;
  const int64_t end = last + args.reach;
  return end < 0 ? 0 : end < args.keys ? end : args.keys;
}

}  // namespace baleen::cuda
