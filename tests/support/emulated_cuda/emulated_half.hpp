/// \file CUDA's 16-bit types for an ordinary compiler: bit patterns, and the conversions that kernels use.
#pragma once
#include <stdint.h>
#include <string.h>

struct __nv_bfloat16 {
  uint16_t bits;
};
struct __half {
  uint16_t bits;
};

inline float __bfloat162float(__nv_bfloat16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}
/// Through the neighbours below and above in magnitude: the nearer one, of two as near the even one.
inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  if (x != x) return {0x7fff};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t below = bits >> 16, rest = bits & 0xffffu;
  const bool up = rest > 0x8000u || (rest == 0x8000u && below % 2 != 0);
  return {static_cast<uint16_t>(below + (up ? 1 : 0))};
}
// The compiler's own type rounds as the hardware does.
inline float __half2float(__half x) {
  _Float16 value;
  memcpy(&value, &x.bits, sizeof value);
  return static_cast<float>(value);
}
inline __half __float2half_rn(float x) {
  const auto value = static_cast<_Float16>(x);
  __half out;
  memcpy(&out.bits, &value, sizeof value);
  return out;
}
