/// \file Elementary functions: of a register full of fp32 as straight-line code, of one fp64 by libm.
///
/// Included once per instruction set. Only IEEE operations in a fixed order are used, so with contraction off the bits
/// are the same with every instruction set and every position in a tile. Polynomials are minimax fits (Remez) by this
/// project. Vector types instead of loops left to the compiler: its auto-vectoriser clones the code of clamps, once per
/// outcome.
#pragma once
#include <stdint.h>

#include "routines.hpp"

#define BALEEN_INLINE inline __attribute__((always_inline))

namespace baleen::cpu::BALEEN_CPU_ISA {

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif

typedef float Floats __attribute__((vector_size(kRegisterBytes)));
typedef int32_t Ints __attribute__((vector_size(kRegisterBytes)));
typedef float LooseFloats __attribute__((vector_size(kRegisterBytes), aligned(4), may_alias));
constexpr Index kFloats = kRegisterBytes / 4;

BALEEN_INLINE Floats load_floats(const float* p) { return *reinterpret_cast<const LooseFloats*>(p); }
BALEEN_INLINE void store_floats(float* p, Floats x) { *reinterpret_cast<LooseFloats*>(p) = x; }

template <class X>
struct ElementOf {
  typedef double type;
};
template <>
struct ElementOf<Floats> {
  typedef float type;
};
/// float for a register of them, else double.
template <class X>
using Element = typename ElementOf<X>::type;

BALEEN_INLINE Floats magnitude(Floats x) { return (Floats)((Ints)x & 0x7fffffff); }
BALEEN_INLINE double magnitude(double x) { return __builtin_fabs(x); }
BALEEN_INLINE Floats with_sign(Floats x, Floats sign) { return (Floats)((Ints)x | ((Ints)sign & INT32_MIN)); }

constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits
constexpr int32_t kRounderBits = 0x4b400000;

/// exp(high + low), |low| small beside high; relative error below 1.2 ulp.
BALEEN_INLINE Floats exp_of_sum(Floats high, Floats low) {
  Floats x = high < -105.0f ? Floats{} - 105.0f : high;
  x = x > 89.0f ? Floats{} + 89.0f : x;
  const Floats biased = x * 1.44269504f + kRounder;
  const Ints n = (Ints)biased - kRounderBits;
  const Floats k = biased - kRounder;
  Floats r = x - k * 0.693145751953125f;
  r = (r - k * 1.42860682030942e-6f) + low;
  Floats p = 0.001394216320477426f * r + 0.008363775908946991f;
  p = p * r + 0.041666362434625626f;
  p = p * r + 0.16666573286056519f;
  p = p * r + 0.5f;
  const Floats e = (p * r * r + r) + 1.0f;
  // Two factors, so that results down to the smallest denormal and up to infinity come out.
  const Ints half = n >> 1;
  return e * (Floats)((half + 127) << 23) * (Floats)((n - half + 127) << 23);
}
BALEEN_INLINE Floats exp_of(Floats x) { return exp_of_sum(x, Floats{}); }
BALEEN_INLINE double exp_of(double x) { return __builtin_exp(x); }

/// exp(x) of x <= 0 in fewer operations: below 1.5 ulp, and 0 where x < -87.
BALEEN_INLINE Floats exp_of_negative(Floats x) {
  const Floats biased = x * 1.44269504f + kRounder;
  const Floats k = biased - kRounder;
  const Floats r = (x - k * 0.693145751953125f) - k * 1.42860682030942e-6f;
  Floats p = 0.001394216320477426f * r + 0.008363775908946991f;
  p = p * r + 0.041666362434625626f;
  p = p * r + 0.16666573286056519f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  // The exponent is added to that of p: 2^n p.
  const Floats scaled = (Floats)((Ints)p + ((Ints)biased << 23));
  return x < -87.0f ? Floats{} : scaled;
}
BALEEN_INLINE double exp_of_negative(double x) { return __builtin_exp(x); }

/// Natural logarithm; below 1.5 ulp.
BALEEN_INLINE Floats log_of(Floats x) {
  constexpr int32_t kRootHalf = 0x3f3504f3;
  const Ints tiny = x < 1.17549435e-38f;
  const Floats scaled = tiny ? x * 8388608.0f : x;
  const Ints bits = (Ints)scaled - kRootHalf;
  const Floats e = __builtin_convertvector((bits >> 23) + (tiny & -23), Floats);
  const Floats f = (Floats)((bits & 0x7fffff) + kRootHalf) - 1.0f;
  const Floats z = f * f;
  Floats p = -0.0790848582983017f * f + 0.1285703033208847f;
  p = p * f - 0.130985289812088f;
  p = p * f + 0.1418389081954956f;
  p = p * f - 0.16628198325634003f;
  p = p * f + 0.20002199709415436f;
  p = p * f - 0.25000691413879395f;
  p = p * f + 0.33333319425582886f;
  const Floats small = (p * z * f + e * 1.42860682030942e-6f) - 0.5f * z;
  const Floats inside = (small + f) + e * 0.693145751953125f;
  const Floats outside = x == 0.0f ? Floats{} - __builtin_inff() : x > 0.0f ? x : Floats{} + __builtin_nanf("");
  return (x > 0.0f) & (x <= 3.40282347e38f) ? inside : outside;
}
BALEEN_INLINE double log_of(double x) { return __builtin_log(x); }

template <class X>
BALEEN_INLINE X sigmoid_of(X x) {
  return 1.0f / (1.0f + exp_of(-x));
}

/// sigmoid(x), and its derivative sigmoid(x) sigmoid(-x).
template <class X>
struct Sigmoid {
  X value, slope;
};

/// Of one exponential, which does not overflow. Each below 4 ulp; sigmoid(x) is 0 where x < -87 in fp32.
template <class X>
BALEEN_INLINE Sigmoid<X> sigmoid_and_slope(X x) {
  const X e = exp_of_negative(-magnitude(x)), above = 1.0f / (1.0f + e), below = e * above;
  return {x < 0.0f ? below : above, below * above};
}

/// Below 2.5 ulp.
BALEEN_INLINE Floats tanh_of(Floats x) {
  const Floats t = magnitude(x);
  const Floats z = x * x;
  Floats p = -0.006111694034188986f * z + 0.021008770912885666f;
  p = p * z - 0.05385368689894676f;
  p = p * z + 0.1333279013633728f;
  p = p * z - 0.333333283662796f;
  const Floats near = x + x * (z * p);
  const Floats far = 1.0f - 2.0f / (exp_of(t + t) + 1.0f);
  return t < 0.625f ? near : with_sign(far, x);
}
BALEEN_INLINE double tanh_of(double x) { return __builtin_tanh(x); }

/// The upper tail of the normal distribution and its density at t >= 0.
template <class X>
struct NormalTail {
  X tail, density;
};

/// Relative error of each below 4 ulp; t beyond 14.5 gives 0.
BALEEN_INLINE NormalTail<Floats> normal_tail(Floats t) {
  const Floats clipped = t > 14.5f ? Floats{} + 14.5f : t;
  // t*t as an exact square and a rest: exp magnifies the rounding of its argument.
  const Floats head = (Floats)((Ints)clipped & ~0xfff);
  const Floats bell = exp_of_sum(-0.5f * head * head, -0.5f * ((clipped - head) * (clipped + head)));
  const Floats inverse = 1.0f / (clipped + 4.0f);
  const Floats u = (clipped - 4.0f) * inverse;
  Floats p = -0.00013197016960475594f * u + 0.0001793589472072199f;
  p = p * u + 0.00156992650590837f;
  p = p * u - 0.003512555966153741f;
  p = p * u - 0.007525273598730564f;
  p = p * u + 0.06040383130311966f;
  p = p * u - 0.1865234375f;
  p = p * u + 0.38713690638542175f;
  p = p * u - 0.6078965663909912f;
  p = p * u + 0.7552851438522339f;
  return {t > 14.5f ? Floats{} : bell * (p * inverse), bell * 0.398942280401432678f};
}
BALEEN_INLINE NormalTail<double> normal_tail(double t) {
  return {0.5 * __builtin_erfc(t * 0.70710678118654752440), 0.39894228040143267794 * __builtin_exp(-0.5 * t * t)};
}

/// The normal distribution function.
template <class X>
BALEEN_INLINE X normal_below(X x, NormalTail<X> at) {
  return x < 0.0f ? at.tail : 1.0f - at.tail;
}

/// Below 3 ulp.
BALEEN_INLINE Floats erf_of(Floats x) {
  const Floats t = magnitude(x);
  const Floats z = x * x;
  Floats p = -0.0006217518821358681f * z + 0.005034840665757656f;
  p = p * z - 0.026793165132403374f;
  p = p * z + 0.11282497644424438f;
  p = p * z - 0.3761255443096161f;
  p = p * z + 1.1283791065216064f;
  const Floats far = 1.0f - 2.0f * normal_tail(t * 1.41421356f).tail;
  return t < 0.875f ? x * p : with_sign(far, x);
}
BALEEN_INLINE double erf_of(double x) { return __builtin_erf(x); }

/// Sine and cosine of |x| < 2^20, evaluated in fp64.
struct SineCosine {
  double sine, cosine;
};
BALEEN_INLINE SineCosine sine_cosine(double x) {
  constexpr double kRounder64 = 6755399441055744.0;  // 1.5 * 2^52
  const double biased = x * 0.63661977236758134308 + kRounder64;
  const int64_t n = __builtin_bit_cast(int64_t, biased);
  const double k = biased - kRounder64;
  const double r = (x - k * 0x1.921fb54p+0) - k * 0x1.10b46118p-30;
  const double z = r * r;
  double s = 1.0665873077384374233e-8 * z + 2.7116264961961349736e-6;
  s = s * z - 0.00019839560088358922484;
  s = s * z + 0.0083333311987240398614;
  s = s * z - 0.16666666662319263108;
  s = s * z * r + r;
  double c = -3.8420899114302695176e-9 * z - 2.6823427513316449361e-7;
  c = c * z + 0.000024798740053328977297;
  c = c * z - 0.0013888885332483519698;
  c = c * z + 0.041666666659421100256;
  c = c * z * z - 0.5 * z + 1.0;
  const bool swap = (n & 1) != 0;
  const double sine = swap ? c : s, cosine = swap ? s : c;
  return {(n & 2) ? -sine : sine, ((n + 1) & 2) ? -cosine : cosine};
}

/// out[i] = function(a[i]) for i < n, by registers; out may be a.
template <class Function>
BALEEN_INLINE void map(float* out, const float* a, Index n, const Function& function) {
  Index i = 0;
  for (; i + kFloats <= n; i += kFloats) store_floats(out + i, function(load_floats(a + i)));
  if (i == n) return;
  float rest[kFloats] = {};
  for (Index j = 0; j < n - i; ++j) rest[j] = a[i + j];
  store_floats(rest, function(load_floats(rest)));
  for (Index j = 0; j < n - i; ++j) out[i + j] = rest[j];
}
template <class Function>
BALEEN_INLINE void map(double* out, const double* a, Index n, const Function& function) {
  for (Index i = 0; i < n; ++i) out[i] = function(a[i]);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
