/// \file Conversions between dtypes.
#include "convert.hpp"

#include <algorithm>
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

// Elements of 16 or 8 bits that do not lie side by side pass through a buffer.
constexpr std::int64_t kGathered = 256;

template <class T, class Bits>
void load_narrow(const RoutinesOf<T>& routines, T* out, const Bits* in, Storage storage, std::int64_t stride,
                 std::int64_t count) {
  if (stride == 1) return routines.widen(out, in, storage, count);
  Bits gathered[kGathered];
  for (std::int64_t begin = 0; begin < count; begin += kGathered) {
    const std::int64_t some = std::min(kGathered, count - begin);
    for (std::int64_t i = 0; i < some; ++i) gathered[i] = in[(begin + i) * stride];
    routines.widen(out + begin, gathered, storage, some);
  }
}

template <class T, class Bits>
void store_narrow(const RoutinesOf<T>& routines, Bits* out, const T* in, Storage storage, std::int64_t stride,
                  std::int64_t count) {
  if (stride == 1) return routines.narrow(out, in, storage, count);
  Bits gathered[kGathered];
  for (std::int64_t begin = 0; begin < count; begin += kGathered) {
    const std::int64_t some = std::min(kGathered, count - begin);
    routines.narrow(gathered, in + begin, storage, some);
    for (std::int64_t i = 0; i < some; ++i) out[(begin + i) * stride] = gathered[i];
  }
}

template <class T, class To>
void round_as(T* out, const T* in, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(rounded<To>(in[i]));
}

}  // namespace

template <class T>
void load_row(const RoutinesOf<T>& routines, T* out, const void* in, baleen_dtype_t dtype, std::int64_t stride,
              std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return load_as(out, static_cast<const float*>(in), stride, count);
    case BALEEN_F64: return load_as(out, static_cast<const double*>(in), stride, count);
    case BALEEN_I32: return load_as(out, static_cast<const std::int32_t*>(in), stride, count);
    case BALEEN_I64: return load_as(out, static_cast<const std::int64_t*>(in), stride, count);
    case BALEEN_U8: return load_as(out, static_cast<const std::uint8_t*>(in), stride, count);
    case BALEEN_E4M3:
    case BALEEN_E5M2:
      return load_narrow(routines, out, static_cast<const std::uint8_t*>(in), storage_of(dtype), stride, count);
    default: return load_narrow(routines, out, static_cast<const std::uint16_t*>(in), storage_of(dtype), stride, count);
  }
}

template <class T>
void store_row(const RoutinesOf<T>& routines, void* out, const T* in, baleen_dtype_t dtype, std::int64_t stride,
               std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return store_as(static_cast<float*>(out), in, stride, count);
    case BALEEN_F64: return store_as(static_cast<double*>(out), in, stride, count);
    case BALEEN_I32: return store_as(static_cast<std::int32_t*>(out), in, stride, count);
    case BALEEN_I64: return store_as(static_cast<std::int64_t*>(out), in, stride, count);
    case BALEEN_U8: return store_as(static_cast<std::uint8_t*>(out), in, stride, count);
    case BALEEN_E4M3:
    case BALEEN_E5M2:
      return store_narrow(routines, static_cast<std::uint8_t*>(out), in, storage_of(dtype), stride, count);
    default: return store_narrow(routines, static_cast<std::uint16_t*>(out), in, storage_of(dtype), stride, count);
  }
}

template <class T>
void round_row(const RoutinesOf<T>& routines, T* out, const T* in, baleen_dtype_t dtype, std::int64_t count) {
  switch (dtype) {
    case BALEEN_F32: return round_as<T, float>(out, in, count);
    case BALEEN_F64: return round_as<T, double>(out, in, count);
    case BALEEN_I32: return round_as<T, std::int32_t>(out, in, count);
    case BALEEN_I64: return round_as<T, std::int64_t>(out, in, count);
    case BALEEN_U8: return round_as<T, std::uint8_t>(out, in, count);
    default: return routines.round(out, in, storage_of(dtype), count);
  }
}

template void load_row(const RoutinesOf<float>&, float*, const void*, baleen_dtype_t, std::int64_t, std::int64_t);
template void load_row(const RoutinesOf<double>&, double*, const void*, baleen_dtype_t, std::int64_t, std::int64_t);
template void store_row(const RoutinesOf<float>&, void*, const float*, baleen_dtype_t, std::int64_t, std::int64_t);
template void store_row(const RoutinesOf<double>&, void*, const double*, baleen_dtype_t, std::int64_t, std::int64_t);
template void round_row(const RoutinesOf<float>&, float*, const float*, baleen_dtype_t, std::int64_t);
template void round_row(const RoutinesOf<double>&, double*, const double*, baleen_dtype_t, std::int64_t);

}  // namespace baleen::cpu
