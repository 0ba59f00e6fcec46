/// \file The 8-bit formats e4m3 and e5m2 to fp32 and back, rounding to nearest even (Micikevicius et al., "FP8 formats
/// for deep learning", arXiv 2209.05433, table 1); without branches, so that loops over them become vectors.
///
/// What is finite stays finite: larger numbers become the largest one, as scales that come from earlier steps may be
/// too large for a few elements. What is not finite must stay visible to whoever looks for it: NaN stays NaN, an
/// infinity stays one in e5m2 and is NaN in e4m3, which has none.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "baleen/dtype.hpp"
#include "baleen/half.hpp"

namespace baleen {

/// The largest finite number of an 8-bit dtype.
constexpr float fp8_largest(baleen_dtype_t dtype) { return dtype == BALEEN_E4M3 ? 448.0f : 57344.0f; }

constexpr float from_e4m3(std::uint8_t x) {
  const std::uint32_t sign = (x & 0x80u) << 24, rest = x & 0x7fu;
  // A normal number: its exponent is biased by 7 there and by 127 here. All ones: NaN.
  const std::uint32_t normal = rest == 0x7fu ? 0x7fc00000u : (rest << 20) + ((127u - 7u) << 23);
  // A small one: an integer times 2^-9.
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-9f);
  return std::bit_cast<float>(sign | (rest < 0x08u ? small : normal));
}

constexpr std::uint8_t to_e4m3(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const std::uint32_t normal = (rest - ((127u - 7u) << 23) + 0x7ffffu + ((rest >> 20) & 1u)) >> 20;
  // Below 2^-6: adding a number whose last bit is 2^-9 rounds to multiples of that.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0x1p14f) - 0x46800000u;
  const std::uint32_t finite = rest < 0x3c800000u ? small : std::min(normal, 0x7eu);
  return static_cast<std::uint8_t>(sign | (rest >= 0x7f800000u ? 0x7fu : finite));
}

constexpr float from_e5m2(std::uint8_t x) { return from_fp16(static_cast<std::uint16_t>(x << 8)); }

constexpr std::uint8_t to_e5m2(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 24) & 0x80u, rest = bits & 0x7fffffffu;
  const std::uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfffffu + ((rest >> 21) & 1u)) >> 21;
  // Below 2^-14: as above, with multiples of 2^-16.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0x1p7f) - 0x43000000u;
  const std::uint32_t finite = rest < 0x38800000u ? small : std::min(normal, 0x7bu);
  const std::uint32_t all = rest > 0x7f800000u ? 0x7eu : rest == 0x7f800000u ? 0x7cu : finite;
  return static_cast<std::uint8_t>(sign | all);
}

}  // namespace baleen
