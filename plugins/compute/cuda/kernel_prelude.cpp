/// \file What stands before every text that NVRTC compiles.
#include "kernel_prelude.hpp"

namespace baleen::cuda {

// A part of the SDK: baleen/op_kind.h describes it to authors of kinds.
const char kKernelPrelude[] = R"(
#ifndef BALEEN_KERNEL
#define BALEEN_KERNEL(threads, name, Args) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Args args)
#endif
namespace baleen {
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#ifndef BALEEN_SHARED_MEMORY
#define BALEEN_SHARED_MEMORY() baleen::dynamic_shared_memory()
static __device__ unsigned char* dynamic_shared_memory() {
  extern __shared__ __align__(16) unsigned char bytes[];
  return bytes;
}
#endif

struct Words {
  u32 x0, x1;
};
static __device__ Words philox(u64 element, u64 step, u64 key) {
  u32 c0 = (u32)element, c1 = (u32)(element >> 32), c2 = (u32)step, c3 = (u32)(step >> 32);
  u32 k0 = (u32)key, k1 = (u32)(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = (u64)0xD2511F53u * c0, p1 = (u64)0xCD9E8D57u * c2;
    const u32 n0 = (u32)(p1 >> 32) ^ c1 ^ k0, n2 = (u32)(p0 >> 32) ^ c3 ^ k1;
    c1 = (u32)p1;
    c3 = (u32)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1};
}

// 16 bits as they are stored. The device converts in one instruction; its C++ names need headers that NVRTC may lack.
struct bf16 {
  unsigned short bits;
};
struct f16 {
  unsigned short bits;
};
template <class T>
static __device__ T widen(T x) {
  return x;
}
static __device__ float widen(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
static __device__ float single(float x) { return x; }
// To the neighbour with the odd last bit where fp32 does not hold it: rounding that again is as rounding once.
static __device__ float single(double x) {
  const float nearest = (float)x;
  if ((double)nearest == x || x != x) return nearest;
  const u32 bits = __float_as_uint(nearest);
  return __uint_as_float((fabs((double)nearest) > fabs(x) ? bits - 1u : bits) | 1u);
}
#ifdef BALEEN_EMULATED
static float widen(f16 x) { return __half2float(__half{x.bits}); }
static bf16 to_bf16(float x) { return {__float2bfloat16_rn(x).bits}; }
static f16 to_f16(float x) { return {__float2half_rn(x).bits}; }
#else
static __device__ float widen(f16 x) {
  float out;
  asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
  return out;
}
static __device__ bf16 to_bf16(float x) {
  bf16 out;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
static __device__ f16 to_f16(float x) {
  f16 out;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
  return out;
}
#endif

// 8 bits, by the formulas of the SDK's fp8.hpp: what is finite stays so, what is not stays visible. The device's own
// conversions cut infinities off, and older devices have none.
struct e4m3 {
  unsigned char bits;
};
struct e5m2 {
  unsigned char bits;
};
static __device__ float widen(e4m3 x) {
  const u32 sign = (u32)(x.bits & 0x80u) << 24, rest = x.bits & 0x7fu;
  const u32 normal = rest == 0x7fu ? 0x7fc00000u : (rest << 20) + (120u << 23);
  return __uint_as_float(sign | (rest < 8u ? __float_as_uint((float)(int)rest * 0x1p-9f) : normal));
}
static __device__ float widen(e5m2 x) {
  const u32 sign = (u32)(x.bits & 0x80u) << 24, rest = x.bits & 0x7fu;
  const u32 normal = (rest << 21) + ((rest >= 0x7cu ? 224u : 112u) << 23);
  return __uint_as_float(sign | (rest < 4u ? __float_as_uint((float)(int)rest * 0x1p-16f) : normal));
}
static __device__ e4m3 to_e4m3(float x) {
  const u32 bits = __float_as_uint(x), sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const u32 normal = (rest - (120u << 23) + 0x7ffffu + ((rest >> 20) & 1u)) >> 20;
  const u32 small = __float_as_uint(__uint_as_float(rest) + 0x1p14f) - 0x46800000u;
  const u32 finite = rest < 0x3c800000u ? small : normal > 0x7eu ? 0x7eu : normal;
  return {(unsigned char)(sign | (rest >= 0x7f800000u ? 0x7fu : finite))};
}
static __device__ e5m2 to_e5m2(float x) {
  const u32 bits = __float_as_uint(x), sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const u32 normal = (rest - (112u << 23) + 0xfffffu + ((rest >> 21) & 1u)) >> 21;
  const u32 small = __float_as_uint(__uint_as_float(rest) + 0x1p7f) - 0x43000000u;
  const u32 finite = rest < 0x38800000u ? small : normal > 0x7bu ? 0x7bu : normal;
  return {(unsigned char)(sign | (rest > 0x7f800000u ? 0x7eu : rest == 0x7f800000u ? 0x7cu : finite))};
}
template <class T>
struct Narrow {
  static __device__ T of(float x) { return (T)x; }
  static __device__ T of(double x) { return (T)x; }
};
template <>
struct Narrow<bf16> {
  static __device__ bf16 of(float x) { return to_bf16(x); }
  static __device__ bf16 of(double x) { return to_bf16(single(x)); }
};
template <>
struct Narrow<f16> {
  static __device__ f16 of(float x) { return to_f16(x); }
  static __device__ f16 of(double x) { return to_f16(single(x)); }
};
template <class T, class X>
static __device__ T narrow(X x) {
  return Narrow<T>::of(x);
}
}  // namespace baleen
)";

}  // namespace baleen::cuda
