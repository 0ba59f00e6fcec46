/// \file Vectors of elements that are stored in 16 or 8 bits beside fp32, widened on loading and rounded to nearest
/// even on storing.
///
/// Included once per instruction set.
#pragma once
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include <type_traits>

#include "vector.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {

struct Bf16 {
  uint16_t bits;
};
struct Fp16 {
  uint16_t bits;
};
struct E4m3 {
  uint8_t bits;
};
struct E5m2 {
  uint8_t bits;
};

typedef uint16_t Halves __attribute__((vector_size(32), may_alias));
typedef uint16_t LooseHalves __attribute__((vector_size(32), aligned(2), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(16), may_alias));
typedef uint8_t LooseBytes __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t Words __attribute__((vector_size(64), may_alias));
typedef int32_t Integers __attribute__((vector_size(64), may_alias));

BALEEN_INLINE Vector<float> widened(Halves h, Bf16) { return (Vector<float>)(__builtin_convertvector(h, Words) << 16); }
BALEEN_INLINE Halves narrowed(Vector<float> x, Bf16) {
  const Words bits = (Words)x;
  const Words rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16, quiet = (bits >> 16) | 0x40u;
  return __builtin_convertvector((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded, Halves);
}

// Unmasked, GCC 12 warns of its own headers.
#if defined(__AVX512F__)
constexpr __mmask16 kAllLanes = 0xffff;
#endif

// The formulas of half.hpp where there are no instructions for it.
BALEEN_INLINE Vector<float> widened(Halves h, Fp16) {
#if defined(__AVX512F__)
  return (Vector<float>)_mm512_maskz_cvtph_ps(kAllLanes, (__m256i)h);
#elif defined(__F16C__)
  const __m256i both = (__m256i)h;
  Vector<float> out;
  store_floats(reinterpret_cast<float*>(&out), (Floats)_mm256_cvtph_ps(_mm256_castsi256_si128(both)));
  store_floats(reinterpret_cast<float*>(&out) + 8, (Floats)_mm256_cvtph_ps(_mm256_extracti128_si256(both, 1)));
  return out;
#else
  const Words bits = __builtin_convertvector(h, Words), sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;
  const Words bias = rest >= 0x7c00u ? Words{} + ((255u - 31u) << 23) : Words{} + ((127u - 15u) << 23);
  const Vector<float> small = __builtin_convertvector((Integers)rest, Vector<float>) * 0x1p-24f;
  return (Vector<float>)(sign | (rest < 0x0400u ? (Words)small : (rest << 13) + bias));
#endif
}
BALEEN_INLINE Halves narrowed(Vector<float> x, Fp16) {
#if defined(__AVX512F__)
  return (Halves)_mm512_maskz_cvtps_ph(kAllLanes, (__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__F16C__)
  const float* lanes = reinterpret_cast<const float*>(&x);
  return (Halves)_mm256_set_m128i(_mm256_cvtps_ph((__m256)load_floats(lanes + 8), _MM_FROUND_TO_NEAREST_INT),
                                  _mm256_cvtps_ph((__m256)load_floats(lanes), _MM_FROUND_TO_NEAREST_INT));
#else
  const Words bits = (Words)x, sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
  const Words normal = (rest - ((127u - 15u) << 23) + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  const Words small = (Words)((Vector<float>)rest + 0.5f) - 0x3f000000u;
  const Words finite = rest < 0x38800000u ? small : rest >= 0x477ff000u ? Words{} + 0x7c00u : normal;
  return __builtin_convertvector(sign | (rest > 0x7f800000u ? Words{} + 0x7e00u : finite), Halves);
#endif
}

// The formulas of fp8.hpp.
BALEEN_INLINE Vector<float> widened(Bytes b, E4m3) {
  const Words bits = __builtin_convertvector(b, Words), sign = (bits & 0x80u) << 24, rest = bits & 0x7fu;
  const Words normal = rest == 0x7fu ? Words{} + 0x7fc00000u : (rest << 20) + ((127u - 7u) << 23);
  const Vector<float> small = __builtin_convertvector((Integers)rest, Vector<float>) * 0x1p-9f;
  return (Vector<float>)(sign | (rest < 0x08u ? (Words)small : normal));
}
BALEEN_INLINE Bytes narrowed(Vector<float> x, E4m3) {
  const Words bits = (Words)x, sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const Words normal = (rest - ((127u - 7u) << 23) + 0x7ffffu + ((rest >> 20) & 1u)) >> 20;
  const Words small = (Words)((Vector<float>)rest + 0x1p14f) - 0x46800000u;
  const Words finite = rest < 0x3c800000u ? small : normal > 0x7eu ? Words{} + 0x7eu : normal;
  return __builtin_convertvector(sign | (rest >= 0x7f800000u ? Words{} + 0x7fu : finite), Bytes);
}
BALEEN_INLINE Vector<float> widened(Bytes b, E5m2) { return widened(__builtin_convertvector(b, Halves) << 8, Fp16{}); }
BALEEN_INLINE Bytes narrowed(Vector<float> x, E5m2) {
  const Words bits = (Words)x, sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const Words normal = (rest - ((127u - 15u) << 23) + 0xfffffu + ((rest >> 21) & 1u)) >> 21;
  const Words small = (Words)((Vector<float>)rest + 0x1p7f) - 0x43000000u;
  const Words finite = rest < 0x38800000u ? small : normal > 0x7bu ? Words{} + 0x7bu : normal;
  const Words other = rest > 0x7f800000u ? Words{} + 0x7eu : Words{} + 0x7cu;
  return __builtin_convertvector(sign | (rest >= 0x7f800000u ? other : finite), Bytes);
}

/// A vector's elements where they lie in memory.
template <std::size_t kBytes>
struct LooseOf {
  typedef LooseHalves type;
};
template <>
struct LooseOf<1> {
  typedef LooseBytes type;
};
template <class Stored>
using Loose = typename LooseOf<sizeof(Stored)>::type;

/// As many elements as a vector of T has lanes, as T.
template <class T, class Stored>
BALEEN_INLINE Vector<T> load_as(const Stored* p) {
  if constexpr (sizeof(Stored) == sizeof(T))
    return load(p);
  else
    return widened(*reinterpret_cast<const Loose<Stored>*>(p), Stored{});
}
template <class Stored>
BALEEN_INLINE void store_as(Stored* p, Vector<float> x) {
  if constexpr (sizeof(Stored) == sizeof(float))
    store(p, x);
  else
    *reinterpret_cast<Loose<Stored>*>(p) = narrowed(x, Stored{});
}

BALEEN_INLINE float widened_one(Bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float out;
  __builtin_memcpy(&out, &bits, 4);
  return out;
}
BALEEN_INLINE float widened_one(Fp16 x) {
#if defined(__F16C__)
  return _cvtsh_ss(x.bits);
#else
  return widened(Halves{x.bits}, x)[0];
#endif
}

BALEEN_INLINE float widened_one(E4m3 x) { return widened(Bytes{x.bits}, x)[0]; }
BALEEN_INLINE float widened_one(E5m2 x) { return widened_one(Fp16{static_cast<uint16_t>(x.bits << 8)}); }

/// One element as T.
template <class T, class Stored>
BALEEN_INLINE T one_as(const Stored* p) {
  if constexpr (sizeof(Stored) == sizeof(T))
    return *p;
  else
    return widened_one(*p);
}
template <class Stored, class T>
BALEEN_INLINE void store_one(Stored* p, T x) {
  if constexpr (sizeof(Stored) == sizeof(T))
    *p = x;
  else
    p->bits = narrowed(Vector<float>{x}, Stored{})[0];
}

template <class Byte, class T>
using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;

/// Calls body(pointer to the elements as they are stored, of a const type where p is).
template <class T, class Byte, class Body>
BALEEN_INLINE auto with_stored(Byte* p, Storage storage, const Body& body) {
  if constexpr (sizeof(T) == 4) {
    if (storage == Storage::kBf16) return body(reinterpret_cast<Like<Byte, Bf16>*>(p));
    if (storage == Storage::kFp16) return body(reinterpret_cast<Like<Byte, Fp16>*>(p));
    if (storage == Storage::kE4m3) return body(reinterpret_cast<Like<Byte, E4m3>*>(p));
    if (storage == Storage::kE5m2) return body(reinterpret_cast<Like<Byte, E5m2>*>(p));
  }
  return body(reinterpret_cast<Like<Byte, T>*>(p));
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
