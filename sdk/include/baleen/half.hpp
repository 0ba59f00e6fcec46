/// \file bf16 and fp16 to fp32 and back, rounding to nearest even; without branches, so that loops over them become
/// vectors.
#pragma once
#include <bit>
#include <cstdint>

namespace baleen {

constexpr float from_bf16(std::uint16_t x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }

constexpr std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

constexpr float from_fp16(std::uint16_t x) {
  const std::uint32_t sign = (x & 0x8000u) << 16, rest = x & 0x7fffu;
  // A normal number: its exponent is biased by 15 there and by 127 here. Infinity and NaN: all ones in both.
  const std::uint32_t normal = (rest << 13) + ((rest >= 0x7c00u ? 255u - 31u : 127u - 15u) << 23);
  // A small one: an integer times 2^-24.
  const auto small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(rest)) * 0x1p-24f);
  return std::bit_cast<float>(sign | (rest < 0x0400u ? small : normal));
}

constexpr std::uint16_t to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
  const std::uint32_t normal = (rest - ((127u - 15u) << 23) + 0xfffu + ((rest >> 13) & 1u)) >> 13;
  // Below 2^-14: adding a number whose last bit is 2^-24 rounds to multiples of that.
  const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5f) - 0x3f000000u;
  const std::uint32_t finite = rest < 0x38800000u ? small : rest >= 0x477ff000u ? 0x7c00u : normal;
  const std::uint32_t all = rest > 0x7f800000u ? 0x7e00u : finite;
  return static_cast<std::uint16_t>(sign | all);
}

}  // namespace baleen
