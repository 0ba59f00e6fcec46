/// \file Sums and maxima in an order that the shape alone decides. By rows: a warp per kept element, its lanes along
/// the reduced positions. By columns: a thread per kept element and eighth of the positions, for kept dimensions that
/// lie packed. Both leave partials of fixed blocks, which a second pass adds.
#include "device.cuh"
#include "reduce.hpp"

namespace baleen::cuda {
namespace {

template <class S, class Fold>
__device__ void finish(const ReduceArgs& args, int64_t element, Compute<S> value) {
  if (args.partials) {
    static_cast<Compute<S>*>(args.partials)[blockIdx.y * args.kept.size + element] = value;
    return;
  }
  int64_t at[2];
  args.kept.offsets(element, at);
  static_cast<S*>(args.y)[at[1]] = static_cast<S>(value);
}

/// Of every `step`th position from `first` on: sixteen at a time, so that long sums stay accurate.
template <class S, class Fold>
__device__ Compute<S> fold_positions(const Walk<1>& reduced, const S* x, int64_t first, int64_t end, int64_t step) {
  using T = Compute<S>;
  constexpr int kTogether = 16;
  T value = Fold::empty();
  for (int64_t i = first; i < end; i += kTogether * step) {
    T part = Fold::empty();
    for (int j = 0; j < kTogether && i + j * step < end; ++j) {
      int64_t from[1];
      reduced.offsets(i + j * step, from);
      part = Fold::of(part, static_cast<T>(x[from[0]]));
    }
    value = Fold::of(value, part);
  }
  return value;
}

template <class S, class Fold>
__device__ void rows(const ReduceArgs& args) {
  using T = Compute<S>;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (element >= args.kept.size) return;
  int64_t at[2];
  args.kept.offsets(element, at);
  const S* x = static_cast<const S*>(args.x) + at[0];
  const int64_t begin = blockIdx.y * args.block, most = begin + args.block;
  const int64_t end = most < args.reduced.size ? most : args.reduced.size;
  T value = fold_positions<S, Fold>(args.reduced, x, begin + threadIdx.x % 32, end, 32);
  value = fold_warp<Fold>(value);
  if (threadIdx.x % 32 == 0) finish<S, Fold>(args, element, value);
}

/// Blocks of 32 kept elements by 8 threads.
template <class S, class Fold>
__device__ void columns(const ReduceArgs& args) {
  using T = Compute<S>;
  __shared__ T parts[8][33];
  const unsigned column = threadIdx.x % 32, part = threadIdx.x / 32;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * 32 + column;
  const int64_t begin = blockIdx.y * args.block, most = begin + args.block;
  const int64_t end = most < args.reduced.size ? most : args.reduced.size;
  T value = Fold::empty();
  if (element < args.kept.size) {
    int64_t at[2];
    args.kept.offsets(element, at);
    const S* x = static_cast<const S*>(args.x) + at[0];
    value = fold_positions<S, Fold>(args.reduced, x, begin + part, end, 8);
  }
  parts[part][column] = value;
  __syncthreads();
  for (unsigned gap = 4; gap > 0; gap /= 2) {
    if (part < gap) parts[part][column] = Fold::of(parts[part][column], parts[part + gap][column]);
    __syncthreads();
  }
  if (part == 0 && element < args.kept.size) finish<S, Fold>(args, element, parts[0][column]);
}

/// A warp per kept element.
template <class S, class Fold>
__device__ void partials(const ReducePartialsArgs& args) {
  using T = Compute<S>;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (element >= args.kept.size) return;
  T value = Fold::empty();
  for (int64_t block = threadIdx.x % 32; block < args.blocks; block += 32)
    value = Fold::of(value, static_cast<const T*>(args.partials)[block * args.kept.size + element]);
  value = fold_warp<Fold>(value);
  if (threadIdx.x % 32 != 0) return;
  int64_t at[1];
  args.kept.offsets(element, at);
  static_cast<S*>(args.y)[at[0]] = static_cast<S>(value);
}

template <class S>
__device__ void reduce_rows(const ReduceArgs& args) {
  args.is_max ? rows<S, Largest<Compute<S>>>(args) : rows<S, Sum<Compute<S>>>(args);
}
template <class S>
__device__ void reduce_columns(const ReduceArgs& args) {
  args.is_max ? columns<S, Largest<Compute<S>>>(args) : columns<S, Sum<Compute<S>>>(args);
}
template <class S>
__device__ void reduce_partials(const ReducePartialsArgs& args) {
  args.is_max ? partials<S, Largest<Compute<S>>>(args) : partials<S, Sum<Compute<S>>>(args);
}

}  // namespace

BALEEN_KERNEL(256, baleen_reduce_rows_f32, ReduceArgs) { reduce_rows<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_rows_f64, ReduceArgs) { reduce_rows<double>(args); }
BALEEN_KERNEL(256, baleen_reduce_columns_f32, ReduceArgs) { reduce_columns<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_columns_f64, ReduceArgs) { reduce_columns<double>(args); }
BALEEN_KERNEL(256, baleen_reduce_partials_f32, ReducePartialsArgs) { reduce_partials<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_partials_f64, ReducePartialsArgs) { reduce_partials<double>(args); }

}  // namespace baleen::cuda
