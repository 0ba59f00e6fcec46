/// \file Loading and storing of Values: widened to the type that is computed in, rounded to nearest even once. The
/// dtype is the same for all threads, so choosing it costs a uniform branch per load.
#pragma once
#include <stdint.h>
#ifndef BALEEN_EMULATED
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

#include "values.hpp"

namespace baleen::cuda {

/// So many elements of S, aligned for the widest load.
template <class S, int kCount>
struct alignas(sizeof(S) * kCount < 16 ? sizeof(S) * kCount : 16) Packed {
  S at[kCount];
};

__device__ __forceinline__ float widen(float x) { return x; }
__device__ __forceinline__ float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float widen(__half x) { return __half2float(x); }
__device__ __forceinline__ void narrow(float x, float& out) { out = x; }
__device__ __forceinline__ void narrow(float x, __nv_bfloat16& out) { out = __float2bfloat16_rn(x); }
__device__ __forceinline__ void narrow(float x, __half& out) { out = __float2half_rn(x); }

template <class S, int kCount>
__device__ __forceinline__ void load_as(const void* data, int64_t at, float (&out)[kCount]) {
  const auto pack = *reinterpret_cast<const Packed<S, kCount>*>(static_cast<const S*>(data) + at);
  for (int i = 0; i < kCount; ++i) out[i] = widen(pack.at[i]);
}
template <class S, int kCount>
__device__ __forceinline__ void store_as(void* data, int64_t at, const float (&in)[kCount]) {
  Packed<S, kCount> pack;
  for (int i = 0; i < kCount; ++i) narrow(in[i], pack.at[i]);
  *reinterpret_cast<Packed<S, kCount>*>(static_cast<S*>(data) + at) = pack;
}

/// What it is once it was stored as S.
template <class S>
__device__ __forceinline__ float as_stored(float x) {
  S there;
  narrow(x, there);
  return widen(there);
}
__device__ __forceinline__ float as_stored(const Values& like, float x) {
  return like.stored == kStoredF32    ? x
         : like.stored == kStoredBf16 ? as_stored<__nv_bfloat16>(x)
                                      : as_stored<__half>(x);
}
__device__ __forceinline__ double as_stored(const Values&, double x) { return x; }
/// A sum by itself, whatever products its terms come from: with the bits of one kernel behind the other.
__device__ __forceinline__ float add_apart(float x, float y) { return __fadd_rn(x, y); }
__device__ __forceinline__ double add_apart(double x, double y) { return __dadd_rn(x, y); }

/// Neighbours from element `at` on, which is a multiple of their number.
template <int kCount>
__device__ __forceinline__ void load_pack(const Values& from, int64_t at, float (&out)[kCount]) {
  if (from.stored == kStoredF32)
    load_as<float>(from.data, at, out);
  else if (from.stored == kStoredBf16)
    load_as<__nv_bfloat16>(from.data, at, out);
  else
    load_as<__half>(from.data, at, out);
}
template <int kCount>
__device__ __forceinline__ void store_pack(const Values& to, int64_t at, const float (&in)[kCount]) {
  if (to.stored == kStoredF32)
    store_as<float>(to.data, at, in);
  else if (to.stored == kStoredBf16)
    store_as<__nv_bfloat16>(to.data, at, in);
  else
    store_as<__half>(to.data, at, in);
}
__device__ __forceinline__ void load_pack(const Values& from, int64_t at, double (&out)[1]) {
  out[0] = static_cast<const double*>(from.data)[at];
}
__device__ __forceinline__ void store_pack(const Values& to, int64_t at, const double (&in)[1]) {
  static_cast<double*>(to.data)[at] = in[0];
}

/// Ways to load neighbours: from what lies as S, so that many loads are under way at a time, or from anything.
template <class S>
struct LoadAs {
  template <int n>
  static __device__ __forceinline__ void load(const Values& from, int64_t at, float (&out)[n]) {
    load_as<S>(from.data, at, out);
  }
};
struct LoadAny {
  template <class T, int n>
  static __device__ __forceinline__ void load(const Values& from, int64_t at, T (&out)[n]) {
    load_pack(from, at, out);
  }
};

template <class T>
__device__ __forceinline__ T load(const Values& from, int64_t at) {
  T out[1];
  load_pack(from, at, out);
  return out[0];
}
template <class T>
__device__ __forceinline__ void store(const Values& to, int64_t at, T value) {
  const T in[1] = {value};
  store_pack(to, at, in);
}

}  // namespace baleen::cuda
