/// \file Rows of bf16, fp16, e4m3 and e5m2 to the type that computes and back.
#include "stored.hpp"
#include "tables.hpp"

namespace baleen::cpu::BALEEN_CPU_ISA {
namespace {

template <class Stored>
void widen_row(float* out, const Stored* in, Index n) {
  constexpr Index kStep = kLanes<float>;
  Index i = 0;
  for (; i + kStep <= n; i += kStep) store(out + i, load_as<float>(in + i));
  for (; i < n; ++i) out[i] = one_as<float>(in + i);
}
template <class Stored>
void narrow_row(Stored* out, const float* in, Index n) {
  constexpr Index kStep = kLanes<float>;
  Index i = 0;
  for (; i + kStep <= n; i += kStep) store_as(out + i, load(in + i));
  for (; i < n; ++i) store_one(out + i, in[i]);
}
template <class Stored>
BALEEN_INLINE float rounded_one(float x) {
  Stored y;
  store_one(&y, x);
  return widened_one(y);
}
template <class Stored>
void round_row(float* out, const float* in, Index n) {
  constexpr Index kStep = kLanes<float>;
  Index i = 0;
  for (; i + kStep <= n; i += kStep) store(out + i, widened(narrowed(load(in + i), Stored{}), Stored{}));
  for (; i < n; ++i) out[i] = rounded_one<Stored>(in[i]);
}

// fp64 to fp32 such that rounding the result once more gives what rounding x would have: an inexact result becomes the
// neighbour whose last bit is set (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
BALEEN_INLINE float to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  uint32_t bits;
  __builtin_memcpy(&bits, &nearest, 4);
  if (x != x || back == x || (bits & 1u)) return nearest;
  bits = __builtin_fabs(back) < __builtin_fabs(x) ? bits + 1 : bits - 1;
  float odd;
  __builtin_memcpy(&odd, &bits, 4);
  return odd;
}
template <class Stored>
void widen_row(double* out, const Stored* in, Index n) {
  for (Index i = 0; i < n; ++i) out[i] = static_cast<double>(one_as<float>(in + i));
}
template <class Stored>
void narrow_row(Stored* out, const double* in, Index n) {
  for (Index i = 0; i < n; ++i) store_one(out + i, to_odd(in[i]));
}
template <class Stored>
void round_row(double* out, const double* in, Index n) {
  for (Index i = 0; i < n; ++i) out[i] = static_cast<double>(rounded_one<Stored>(to_odd(in[i])));
}

template <class T>
void widen(T* out, const void* in, Storage storage, Index n) {
  if (storage == Storage::kBf16) return widen_row(out, static_cast<const Bf16*>(in), n);
  if (storage == Storage::kFp16) return widen_row(out, static_cast<const Fp16*>(in), n);
  if (storage == Storage::kE4m3) return widen_row(out, static_cast<const E4m3*>(in), n);
  if (storage == Storage::kE5m2) return widen_row(out, static_cast<const E5m2*>(in), n);
  __builtin_memmove(out, in, static_cast<std::size_t>(n) * sizeof(T));
}
template <class T>
void narrow(void* out, const T* in, Storage storage, Index n) {
  if (storage == Storage::kBf16) return narrow_row(static_cast<Bf16*>(out), in, n);
  if (storage == Storage::kFp16) return narrow_row(static_cast<Fp16*>(out), in, n);
  if (storage == Storage::kE4m3) return narrow_row(static_cast<E4m3*>(out), in, n);
  if (storage == Storage::kE5m2) return narrow_row(static_cast<E5m2*>(out), in, n);
  __builtin_memmove(out, in, static_cast<std::size_t>(n) * sizeof(T));
}
template <class T>
void round(T* out, const T* in, Storage storage, Index n) {
  if (storage == Storage::kBf16) return round_row<Bf16>(out, in, n);
  if (storage == Storage::kFp16) return round_row<Fp16>(out, in, n);
  if (storage == Storage::kE4m3) return round_row<E4m3>(out, in, n);
  if (storage == Storage::kE5m2) return round_row<E5m2>(out, in, n);
  __builtin_memmove(out, in, static_cast<std::size_t>(n) * sizeof(T));
}

template <class T>
void fill(RoutinesOf<T>& r) {
  r.widen = widen<T>;
  r.narrow = narrow<T>;
  r.round = round<T>;
}

}  // namespace

void fill_convert(Routines& routines) {
  fill(routines.f32);
  fill(routines.f64);
}

}  // namespace baleen::cpu::BALEEN_CPU_ISA
