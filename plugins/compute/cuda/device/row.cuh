/// \file Going through a row by all threads of a block: by packs of neighbours where it lies in packs, else one by one.
#pragma once
#include "device.cuh"
#include "rows.hpp"

namespace baleen::cuda {

/// A number of elements as a type.
template <int kElements>
struct Count {
  static constexpr int value = kElements;
};

/// Calls body(Count<n>, first element) for this thread's elements: packs of kMost, then the rest of the row one by one.
template <int kMost, class Body>
__device__ __forceinline__ void each(int64_t width, const Body& body) {
  const int64_t packed = kMost > 1 ? width / kMost * kMost : 0;
  if (kMost > 1)
    for (int64_t i = static_cast<int64_t>(threadIdx.x) * kMost; i < packed;
         i += static_cast<int64_t>(blockDim.x) * kMost)
      body(Count<kMost>{}, i);
  for (int64_t i = packed + threadIdx.x; i < width; i += blockDim.x) body(Count<1>{}, i);
}

/// One row of an operand.
template <class T>
struct Row {
  Values values;
  int64_t base, inner;

  template <int kCount>
  __device__ __forceinline__ void load(int64_t i, T (&out)[kCount]) const {
    load_pack(values, base + i * inner, out);
  }
  template <int kCount>
  __device__ __forceinline__ void store(int64_t i, const T (&in)[kCount]) const {
    store_pack(values, base + i * inner, in);
  }
};

/// each() with the elements of rows loaded: body(first element, x), body(first element, x, y) and so on, with arrays.
template <int kMost, class T, class Body>
__device__ __forceinline__ void each_of(int64_t width, const Row<T>& a, const Body& body) {
  each<kMost>(width, [&](auto count, int64_t i) {
    T x[decltype(count)::value];
    a.load(i, x);
    body(i, x);
  });
}
template <int kMost, class T, class Body>
__device__ __forceinline__ void each_of(int64_t width, const Row<T>& a, const Row<T>& b, const Body& body) {
  each<kMost>(width, [&](auto count, int64_t i) {
    T x[decltype(count)::value], y[decltype(count)::value];
    a.load(i, x);
    b.load(i, y);
    body(i, x, y);
  });
}
template <int kMost, class T, class Body>
__device__ __forceinline__ void each_of(int64_t width, const Row<T>& a, const Row<T>& b, const Row<T>& c,
                                        const Body& body) {
  each<kMost>(width, [&](auto count, int64_t i) {
    T x[decltype(count)::value], y[decltype(count)::value], z[decltype(count)::value];
    a.load(i, x);
    b.load(i, y);
    c.load(i, z);
    body(i, x, y, z);
  });
}
/// The length of an array that a body of each_of() was given.
#define BALEEN_LENGTH(array) static_cast<int>(sizeof(array) / sizeof(*(array)))

/// The largest element and the sum of exp(x - largest).
template <class T>
struct Softened {
  T peak, sum;
};

/// Of a row, read once (Milakov and Gimelshein 2018). All threads get the result.
template <int kMost, class T, class Logits>
__device__ Softened<T> soften(const Logits& row, int64_t width) {
  const T none = Largest<T>::empty();
  T peak = none, sum = 0;
  each<kMost>(width, [&](auto count, int64_t i) {
    T x[decltype(count)::value];
    row.load(i, x);
    T higher = peak;
    for (const T one : x) higher = Largest<T>::of(higher, one);
    if (higher == none) return;
    if (higher != peak) sum *= exp(peak - higher);
    for (const T one : x) sum += exp(one - higher);
    peak = higher;
  });
  const T highest = fold_block<Largest<T>>(peak);
  sum = peak == none ? T(0) : sum * exp(peak - highest);
  return {highest, fold_block<Sum<T>>(sum)};
}

}  // namespace baleen::cuda
