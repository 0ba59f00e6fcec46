/// \file Sums and maxima in an order that the shape alone decides. By rows: a warp per kept element, its lanes along
/// the reduced positions, by packs where they lie so. By columns: a thread per kept element, or pack of them, and
/// eighth of the positions, for kept dimensions that lie packed; packs change no bit there. Both leave partials of
/// fixed blocks, which a second pass adds.
#include "device.cuh"
#include "reduce.hpp"

namespace baleen::cuda {
namespace {

template <class T>
__device__ void finish(const ReduceArgs& args, int64_t element, T value) {
  if (args.partials) {
    static_cast<T*>(args.partials)[blockIdx.y * args.kept.size + element] = value;
    return;
  }
  int64_t at[2];
  args.kept.offsets(element, at);
  store(args.y, at[1], value);
}

/// A square is rounded as if it had been stored.
template <Taken kTaken>
__device__ __forceinline__ float taken(float x) {
  if (kTaken == kTakenMagnitude) return fabsf(x);
#ifdef __CUDA_ARCH__
  return kTaken == kTakenSquare ? __fmul_rn(x, x) : x;
#else
  return kTaken == kTakenSquare ? x * x : x;
#endif
}
template <Taken kTaken>
__device__ __forceinline__ double taken(double x) {
  if (kTaken == kTakenMagnitude) return fabs(x);
#ifdef __CUDA_ARCH__
  return kTaken == kTakenSquare ? __dmul_rn(x, x) : x;
#else
  return kTaken == kTakenSquare ? x * x : x;
#endif
}

/// Of every `step`th position from `first` on: sixteen at a time, so that long sums stay accurate.
template <class T, class Fold, Taken kTaken>
__device__ T fold_positions(const Walk<1>& reduced, const Values& x, int64_t at, int64_t first, int64_t end,
                            int64_t step) {
  constexpr int kTogether = 16;
  T value = Fold::empty();
  for (int64_t i = first; i < end; i += kTogether * step) {
    T part = Fold::empty();
    for (int j = 0; j < kTogether && i + j * step < end; ++j) {
      int64_t from[1];
      reduced.offsets(i + j * step, from);
      part = Fold::of(part, taken<kTaken>(load<T>(x, at + from[0])));
    }
    value = Fold::of(value, part);
  }
  return value;
}

/// The same of packs that begin at every `step`th position from `first` on: as many elements at a time. Packs of some
/// turns are loaded before they are added.
template <class Load, class Fold, Taken kTaken>
__device__ float fold_packs(const Walk<1>& reduced, const Values& x, int64_t at, int64_t first, int64_t end,
                            int64_t step) {
  constexpr int kAhead = 4;
  float value = Fold::empty();
  for (int64_t i = first; i < end; i += 2 * kAhead * step) {
    float packs[2 * kAhead][kPack];
    BALEEN_UNROLL
    for (int j = 0; j < 2 * kAhead; ++j) {
      const int64_t position = i + j * step;
      int64_t from[1];
      reduced.offsets(position < end ? position : first, from);
      Load::load(x, at + from[0], packs[j]);
    }
    BALEEN_UNROLL
    for (int j = 0; j < 2 * kAhead; j += 2) {
      if (i + j * step >= end) break;
      float part = Fold::empty();
      for (const float one : packs[j]) part = Fold::of(part, taken<kTaken>(one));
      if (i + (j + 1) * step < end)
        for (const float one : packs[j + 1]) part = Fold::of(part, taken<kTaken>(one));
      value = Fold::of(value, part);
    }
  }
  return value;
}
template <class Fold, Taken kTaken>
__device__ float fold_packs(const ReduceArgs& args, int64_t at, int64_t first, int64_t end) {
  constexpr int64_t kStep = 32 * kPack;
  if (args.x.stored == kStoredF32)
    return fold_packs<LoadAs<float>, Fold, kTaken>(args.reduced, args.x, at, first, end, kStep);
  if (args.x.stored == kStoredBf16)
    return fold_packs<LoadAs<__nv_bfloat16>, Fold, kTaken>(args.reduced, args.x, at, first, end, kStep);
  return fold_packs<LoadAs<__half>, Fold, kTaken>(args.reduced, args.x, at, first, end, kStep);
}

/// A warp's part of the positions of a kept element.
template <class Fold, Taken kTaken>
__device__ float fold_row(const ReduceArgs& args, float, int64_t at, int64_t begin, int64_t end) {
  const int64_t lane = threadIdx.x % 32;
  return args.packs ? fold_packs<Fold, kTaken>(args, at, begin + lane * kPack, end)
                    : fold_positions<float, Fold, kTaken>(args.reduced, args.x, at, begin + lane, end, 32);
}
template <class Fold, Taken kTaken>
__device__ double fold_row(const ReduceArgs& args, double, int64_t at, int64_t begin, int64_t end) {
  return fold_positions<double, Fold, kTaken>(args.reduced, args.x, at, begin + threadIdx.x % 32, end, 32);
}

template <class T, class Fold, Taken kTaken>
__device__ void rows(const ReduceArgs& args) {
  const int64_t element = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (element >= args.kept.size) return;
  int64_t at[2];
  args.kept.offsets(element, at);
  const int64_t begin = blockIdx.y * args.block, most = begin + args.block;
  const int64_t end = most < args.reduced.size ? most : args.reduced.size;
  const T value = fold_warp<Fold>(fold_row<Fold, kTaken>(args, T(0), at[0], begin, end));
  if (threadIdx.x % 32 == 0) finish(args, element, value);
}

/// Blocks of 32 kept elements by 8 threads. `parts` is shared memory: one for all that are made of this.
template <class T>
using ColumnParts = T[8][33];
template <class T, class Fold, Taken kTaken>
__device__ void columns(const ReduceArgs& args, ColumnParts<T>& parts) {
  const unsigned column = threadIdx.x % 32, part = threadIdx.x / 32;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * 32 + column;
  const int64_t begin = blockIdx.y * args.block, most = begin + args.block;
  const int64_t end = most < args.reduced.size ? most : args.reduced.size;
  T value = Fold::empty();
  if (element < args.kept.size) {
    int64_t at[2];
    args.kept.offsets(element, at);
    value = fold_positions<T, Fold, kTaken>(args.reduced, args.x, at[0], begin + part, end, 8);
  }
  parts[part][column] = value;
  __syncthreads();
  for (unsigned gap = 4; gap > 0; gap /= 2) {
    if (part < gap) parts[part][column] = Fold::of(parts[part][column], parts[part + gap][column]);
    __syncthreads();
  }
  if (part == 0 && element < args.kept.size) finish(args, element, parts[0][column]);
}

/// The same for packs of kept elements: blocks of 32 of them by 8 threads, each column as there.
using PackParts = float[8][32 * kPack];
template <class Fold, Taken kTaken>
__device__ void column_packs(const ReduceArgs& args, PackParts& parts) {
  const unsigned lane = threadIdx.x % 32, part = threadIdx.x / 32;
  const int64_t element = (static_cast<int64_t>(blockIdx.x) * 32 + lane) * kPack;
  const int64_t begin = blockIdx.y * args.block, most = begin + args.block;
  const int64_t end = most < args.reduced.size ? most : args.reduced.size;
  float values[kPack];
  for (float& value : values) value = Fold::empty();
  if (element < args.kept.size) {
    constexpr int kTogether = 16;
    int64_t at[2];
    args.kept.offsets(element, at);
    for (int64_t i = begin + part; i < end; i += kTogether * 8) {
      float sums[kPack], pack[kPack];
      for (float& sum : sums) sum = Fold::empty();
      for (int j = 0; j < kTogether && i + j * 8 < end; ++j) {
        int64_t from[1];
        args.reduced.offsets(i + j * 8, from);
        load_pack(args.x, at[0] + from[0], pack);
        for (int k = 0; k < kPack; ++k) sums[k] = Fold::of(sums[k], taken<kTaken>(pack[k]));
      }
      for (int k = 0; k < kPack; ++k) values[k] = Fold::of(values[k], sums[k]);
    }
  }
  // Neighbouring lanes' values are neighbours: no two of a warp meet in a bank.
  for (int k = 0; k < kPack; ++k) parts[part][k * 32 + lane] = values[k];
  __syncthreads();
  for (unsigned gap = 4; gap > 0; gap /= 2) {
    for (unsigned k = 0; part < gap && k < kPack; ++k) {
      float& mine = parts[part][k * 32 + lane];
      mine = Fold::of(mine, parts[part + gap][k * 32 + lane]);
    }
    __syncthreads();
  }
  if (part != 0 || element >= args.kept.size) return;
  for (int k = 0; k < kPack; ++k) finish(args, element + k, parts[0][k * 32 + lane]);
}

/// A warp per kept element.
template <class T, class Fold>
__device__ void partials(const ReducePartialsArgs& args) {
  const int64_t element = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (element >= args.kept.size) return;
  T value = Fold::empty();
  for (int64_t block = threadIdx.x % 32; block < args.blocks; block += 32)
    value = Fold::of(value, static_cast<const T*>(args.partials)[block * args.kept.size + element]);
  value = fold_warp<Fold>(value);
  if (threadIdx.x % 32 != 0) return;
  int64_t at[1];
  args.kept.offsets(element, at);
  store(args.y, at[0], value);
}

template <class T>
__device__ void reduce_rows(const ReduceArgs& args) {
  if (args.taken == kTakenSquare)
    rows<T, Sum<T>, kTakenSquare>(args);
  else if (args.taken == kTakenMagnitude)
    rows<T, Largest<T>, kTakenMagnitude>(args);
  else if (args.is_max)
    rows<T, Largest<T>, kTakenItself>(args);
  else
    rows<T, Sum<T>, kTakenItself>(args);
}
template <class T>
__device__ void reduce_columns(const ReduceArgs& args) {
  __shared__ ColumnParts<T> parts;
  if (args.taken == kTakenSquare)
    columns<T, Sum<T>, kTakenSquare>(args, parts);
  else if (args.taken == kTakenMagnitude)
    columns<T, Largest<T>, kTakenMagnitude>(args, parts);
  else if (args.is_max)
    columns<T, Largest<T>, kTakenItself>(args, parts);
  else
    columns<T, Sum<T>, kTakenItself>(args, parts);
}
template <class T>
__device__ void reduce_partials(const ReducePartialsArgs& args) {
  args.is_max ? partials<T, Largest<T>>(args) : partials<T, Sum<T>>(args);
}

}  // namespace

BALEEN_KERNEL(256, baleen_reduce_rows_f32, ReduceArgs) { reduce_rows<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_rows_f64, ReduceArgs) { reduce_rows<double>(args); }
BALEEN_KERNEL(256, baleen_reduce_columns_f32, ReduceArgs) { reduce_columns<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_column_packs, ReduceArgs) {
  __shared__ PackParts parts;
  if (args.taken == kTakenSquare)
    column_packs<Sum<float>, kTakenSquare>(args, parts);
  else if (args.taken == kTakenMagnitude)
    column_packs<Largest<float>, kTakenMagnitude>(args, parts);
  else if (args.is_max)
    column_packs<Largest<float>, kTakenItself>(args, parts);
  else
    column_packs<Sum<float>, kTakenItself>(args, parts);
}
BALEEN_KERNEL(256, baleen_reduce_columns_f64, ReduceArgs) { reduce_columns<double>(args); }
BALEEN_KERNEL(256, baleen_reduce_partials_f32, ReducePartialsArgs) { reduce_partials<float>(args); }
BALEEN_KERNEL(256, baleen_reduce_partials_f64, ReducePartialsArgs) { reduce_partials<double>(args); }

}  // namespace baleen::cuda
