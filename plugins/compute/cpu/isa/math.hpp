/// \file Elementary functions as straight-line code that the compiler vectorises, in fp32; fp64 takes libm's.
///
/// Included once per instruction set. Only IEEE operations in a fixed order are used, so with contraction off the bits are
/// the same with every instruction set and every position in a tile. Polynomials are minimax fits (Remez) by this project.
#pragma once
#include <stdint.h>

#define BALEEN_INLINE inline __attribute__((always_inline))

namespace baleen::cpu::BALEEN_CPU_ISA {

BALEEN_INLINE float as_float(int32_t bits) { return __builtin_bit_cast(float, bits); }
BALEEN_INLINE int32_t as_bits(float x) { return __builtin_bit_cast(int32_t, x); }

constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer kept in the low bits

/// exp(high + low), |low| small beside high; relative error below 1.2 ulp.
BALEEN_INLINE float exp_of_sum(float high, float low) {
  float x = high < -105.0f ? -105.0f : high;
  x = x > 89.0f ? 89.0f : x;
  const float biased = x * 1.44269504f + kRounder;
  const int32_t n = as_bits(biased) - as_bits(kRounder);
  const float k = biased - kRounder;
  float r = x - k * 0.693145751953125f;
  r = (r - k * 1.42860682030942e-6f) + low;
  const float p =
      (((0.001394216320477426f * r + 0.008363775908946991f) * r + 0.041666362434625626f) * r + 0.16666573286056519f) *
          r + 0.5f;
  const float e = (p * r * r + r) + 1.0f;
  // Two factors, so that results down to the smallest denormal and up to infinity come out rounded once or twice.
  const int32_t half = n >> 1;
  return e * as_float((half + 127) << 23) * as_float((n - half + 127) << 23);
}
BALEEN_INLINE float exp_of(float x) { return exp_of_sum(x, 0.0f); }
BALEEN_INLINE double exp_of(double x) { return __builtin_exp(x); }

/// Natural logarithm; below 1.5 ulp.
BALEEN_INLINE float log_of(float x) {
  constexpr int32_t kRootHalf = 0x3f3504f3;
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const int32_t bits = as_bits(scaled) - kRootHalf;
  const float e = static_cast<float>((bits >> 23) - (tiny ? 23 : 0));
  const float f = as_float((bits & 0x7fffff) + kRootHalf) - 1.0f;
  const float z = f * f;
  float p = -0.0790848582983017f * f + 0.1285703033208847f;
  p = p * f - 0.130985289812088f;
  p = p * f + 0.1418389081954956f;
  p = p * f - 0.16628198325634003f;
  p = p * f + 0.20002199709415436f;
  p = p * f - 0.25000691413879395f;
  p = p * f + 0.33333319425582886f;
  const float small = (p * z * f + e * 1.42860682030942e-6f) - 0.5f * z;
  const float result = (small + f) + e * 0.693145751953125f;
  const float at_edge = x == 0.0f ? -__builtin_inff() : x > 0.0f ? x : __builtin_nanf("");
  return x > 0.0f && x <= 3.40282347e38f ? result : at_edge;
}
BALEEN_INLINE double log_of(double x) { return __builtin_log(x); }

BALEEN_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
BALEEN_INLINE double magnitude(double x) { return __builtin_fabs(x); }
BALEEN_INLINE float with_sign(float x, float sign) { return __builtin_copysignf(x, sign); }
BALEEN_INLINE float root(float x) { return __builtin_sqrtf(x); }
BALEEN_INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T>
BALEEN_INLINE T sigmoid_of(T x) {
  return T(1) / (T(1) + exp_of(-x));
}

/// Below 2.5 ulp.
BALEEN_INLINE float tanh_of(float x) {
  const float t = magnitude(x);
  const float z = x * x;
  float p = -0.006111694034188986f * z + 0.021008770912885666f;
  p = p * z - 0.05385368689894676f;
  p = p * z + 0.1333279013633728f;
  p = p * z - 0.333333283662796f;
  const float near = x + x * (z * p);
  const float far = 1.0f - 2.0f / (exp_of(t + t) + 1.0f);
  return t < 0.625f ? near : with_sign(far, x);
}
BALEEN_INLINE double tanh_of(double x) { return __builtin_tanh(x); }

/// The upper tail of the normal distribution and its density at t >= 0.
template <class T>
struct NormalTail {
  T tail, density;
};

/// Relative error below 4 ulp of each; t beyond 14.5 gives 0.
BALEEN_INLINE NormalTail<float> normal_tail(float t) {
  const float clipped = t > 14.5f ? 14.5f : t;
  // t*t as an exact square and a rest: exp magnifies the rounding of its argument.
  const float head = as_float(as_bits(clipped) & ~0xfff);
  const float bell = exp_of_sum(-0.5f * head * head, -0.5f * ((clipped - head) * (clipped + head)));
  const float u = (clipped - 4.0f) / (clipped + 4.0f);
  float p = -0.00013197016960475594f * u + 0.0001793589472072199f;
  p = p * u + 0.00156992650590837f;
  p = p * u - 0.003512555966153741f;
  p = p * u - 0.007525273598730564f;
  p = p * u + 0.06040383130311966f;
  p = p * u - 0.1865234375f;
  p = p * u + 0.38713690638542175f;
  p = p * u - 0.6078965663909912f;
  p = p * u + 0.7552851438522339f;
  const float tail = bell * (p / (clipped + 4.0f));
  return {t > 14.5f ? 0.0f : tail, bell * 0.398942280401432678f};
}
BALEEN_INLINE NormalTail<double> normal_tail(double t) {
  return {0.5 * __builtin_erfc(t * 0.70710678118654752440), 0.39894228040143267794 * __builtin_exp(-0.5 * t * t)};
}

/// The normal distribution function.
template <class T>
BALEEN_INLINE T normal_below(T x, NormalTail<T> at) {
  return x < T(0) ? at.tail : T(1) - at.tail;
}

/// Below 2.5 ulp.
BALEEN_INLINE float erf_of(float x) {
  const float t = magnitude(x);
  const float z = x * x;
  float p = -0.0006217518821358681f * z + 0.005034840665757656f;
  p = p * z - 0.026793165132403374f;
  p = p * z + 0.11282497644424438f;
  p = p * z - 0.3761255443096161f;
  p = p * z + 1.1283791065216064f;
  const float far = 1.0f - 2.0f * normal_tail(t * 1.41421356f).tail;
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

}  // namespace baleen::cpu::BALEEN_CPU_ISA
