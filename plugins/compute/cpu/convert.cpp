/// \file Conversions between dtypes.
#include "convert.hpp"

#include <bit>
#include <limits>

namespace baleen::cpu {
namespace {

template <class T, class From>
void load_as(T* out, const From* in, std::int64_t stride, std::int64_t count) {
  if (stride == 1)
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i]);
  else
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(in[i * stride]);
}

template <class To, class T>
To rounded(T x) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else {
    const double nearest = std::nearbyint(static_cast<double>(x));
    if (!(nearest > static_cast<double>(std::numeric_limits<To>::min()))) return std::numeric_limits<To>::min();
    if (nearest >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(nearest);
  }
}

template <class T, class To>
void store_as(To* out, const T* in, std::int64_t stride, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i * stride] = rounded<To>(in[i]);
}

float round_bf16(float x) {
  if (std::isnan(x)) return x;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

// 11 significant bits; below 2^-14 a fixed spacing of 2^-24; beyond 65504 infinity.
float round_f16(float x) {
  if (!std::isfinite(x) || x == 0.0f) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int spacing = exponent - 11 > -24 ? exponent - 11 : -24;
  const float result = std::ldexp(std::nearbyint(std::ldexp(x, -spacing)), spacing);
  return std::abs(result) > 65504.0f ? std::copysign(std::numeric_limits<float>::infinity(), x) : result;
}

template <class T, class To>
void round_as(T* out, const T* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(rounded<To>(in[i]));
}

}  // namespace

template <class T>
void load_row(T* out, const void* in, baleen_dtype_t dtype, std::int64_t stride, std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return load_as(out, static_cast<const float*>(in), stride, count);
    case BALEEN_F64: return load_as(out, static_cast<const double*>(in), stride, count);
    case BALEEN_I32: return load_as(out, static_cast<const std::int32_t*>(in), stride, count);
    case BALEEN_I64: return load_as(out, static_cast<const std::int64_t*>(in), stride, count);
    default: return load_as(out, static_cast<const std::uint8_t*>(in), stride, count);
  }
}

template <class T>
void store_row(void* out, const T* in, baleen_dtype_t dtype, std::int64_t stride, std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return store_as(static_cast<float*>(out), in, stride, count);
    case BALEEN_F64: return store_as(static_cast<double*>(out), in, stride, count);
    case BALEEN_I32: return store_as(static_cast<std::int32_t*>(out), in, stride, count);
    case BALEEN_I64: return store_as(static_cast<std::int64_t*>(out), in, stride, count);
    default: return store_as(static_cast<std::uint8_t*>(out), in, stride, count);
  }
}

template <class T>
void round_row(T* out, const T* in, baleen_dtype_t dtype, std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return round_as<T, float>(out, in, count);
    case BALEEN_F64: return round_as<T, double>(out, in, count);
    case BALEEN_I32: return round_as<T, std::int32_t>(out, in, count);
    case BALEEN_I64: return round_as<T, std::int64_t>(out, in, count);
    case BALEEN_U8: return round_as<T, std::uint8_t>(out, in, count);
    case BALEEN_BF16:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(round_bf16(static_cast<float>(in[i])));
      return;
    default:
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(round_f16(static_cast<float>(in[i])));
  }
}

template void load_row(float*, const void*, baleen_dtype_t, std::int64_t, std::int64_t);
template void load_row(double*, const void*, baleen_dtype_t, std::int64_t, std::int64_t);
template void store_row(void*, const float*, baleen_dtype_t, std::int64_t, std::int64_t);
template void store_row(void*, const double*, baleen_dtype_t, std::int64_t, std::int64_t);
template void round_row(float*, const float*, baleen_dtype_t, std::int64_t);
template void round_row(double*, const double*, baleen_dtype_t, std::int64_t);

}  // namespace baleen::cpu
