/// \file Functions of generated kernels, as text for NVRTC.
#include "expression_prelude.hpp"

namespace baleen::cuda {

// Divisions and square roots are IEEE's and nothing is contracted (compile_source), so that what IEEE fixes has the
// same bits as elsewhere. Sine and cosine of fp32 go through fp64: within one unit in the last place.
const char kPointwisePrelude[] = R"(
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#ifndef BALEEN_KERNEL
#define BALEEN_KERNEL(threads, name, Args) \
  extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Args args)
#endif
struct Args {
  void* operand[64];
  u64 seed, step, micro;
};
template <class T, int n>
struct alignas(sizeof(T) * n < 16 ? sizeof(T) * n : 16) Pack {
  T at[n];
};

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
static __device__ Real uniform(u64 element, u64 step, u64 key) {
  return (Real)(int)(philox(element, step, key).x0 >> 8) * (Real)0x1p-24;
}
static __device__ Real normal(u64 element, u64 step, u64 key) {
  const Words words = philox(element, step, key);
  const double u = ((double)(words.x0 >> 8) + 0.5) * 0x1p-24, v = (double)(words.x1 >> 8) * 0x1p-24;
  return (Real)(sqrt(-2.0 * log(u)) * cos(6.283185307179586476925 * v));
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
// The nearest whole number, kept within [least, most]; a NaN becomes the least.
static __device__ double whole(Real x, double least, double most) {
  const double nearest = rint((double)x);
  return nearest > least ? (nearest >= most ? most : nearest) : least;
}
template <class T>
static __device__ T to_whole(Real x, double least, double most, T smallest, T largest) {
  const double nearest = whole(x, least, most);
  return nearest <= least ? smallest : nearest >= most ? largest : (T)nearest;
}

static __device__ Real sigmoid(Real x) { return (Real)1 / ((Real)1 + F(exp)(-x)); }
static __device__ Real gelu(Real x) { return x * F(normcdf)(x); }
static __device__ Real gelu_grad(Real x) {
  return F(normcdf)(x) + x * ((Real)0.39894228040143267794 * F(exp)((Real)-0.5 * x * x));
}
// tanh(u) = 2 sigmoid(2u) - 1, so x (1 + tanh u) / 2 = x sigmoid(2u): no cancellation for negative x.
static __device__ Real gelu_tanh_argument(Real x) {
  return (Real)1.5957691216057307117597842397375 * (x + (Real)0.044715 * (x * x * x));
}
static __device__ Real gelu_tanh(Real x) { return x * sigmoid(gelu_tanh_argument(x)); }
static __device__ Real gelu_tanh_grad(Real x) {
  // Far out the derivative is 0 or 1 to the last bit, and its factors would overflow.
  const Real far = sizeof(Real) == 4 ? 12 : 40, c = x > far ? far : x < -far ? -far : x;
  const Real s = sigmoid(gelu_tanh_argument(c));
  const Real slope = (Real)1.5957691216057307117597842397375 * ((Real)1 + (Real)0.134145 * (c * c));
  return s + c * s * sigmoid(-gelu_tanh_argument(c)) * slope;
}
static __device__ Real silu_grad(Real x) {
  const Real s = sigmoid(x);
  return F(fabs)(x) > (Real)200 ? s : s + x * s * sigmoid(-x);  // no inf * 0 at the far ends
}
)";

}  // namespace baleen::cuda
