/// \file The half formats against ldexp and nearbyint, all 65,536 of each and what lies between.
#include "baleen/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace baleen {
namespace {

// A finite number of 1 sign bit, `exponent` and `mantissa` bits.
double value_of(std::uint32_t bits, int exponent, int mantissa) {
  const int bias = (1 << (exponent - 1)) - 1, e = static_cast<int>(bits >> mantissa) & ((1 << exponent) - 1);
  const int m = static_cast<int>(bits & ((1u << mantissa) - 1));
  const double size =
      e == 0 ? std::ldexp(m, 1 - bias - mantissa) : std::ldexp(m + (1 << mantissa), e - bias - mantissa);
  return bits & 0x8000 ? -size : size;
}

template <class From, class To>
void expect_exact(int exponent, int mantissa, From from, To to) {
  const std::uint32_t top = ((1u << exponent) - 1) << mantissa;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = from(static_cast<std::uint16_t>(bits));
    const std::uint32_t rest = bits & 0x7fff;
    if (rest > top) {
      EXPECT_TRUE(std::isnan(x) && std::isnan(from(to(x)))) << bits;
    } else {
      const double expected = rest == top ? (bits & 0x8000 ? -INFINITY : INFINITY) : value_of(bits, exponent, mantissa);
      EXPECT_EQ(x, static_cast<float>(expected)) << bits;
      EXPECT_EQ(to(x), bits);
    }
  }
}

// Between neighbours: the nearer one, the even one from the middle.
template <class From, class To>
void expect_rounding(std::uint32_t top, From from, To to) {
  for (std::uint32_t bits = 0; bits + 1 < top; ++bits) {
    const float low = from(static_cast<std::uint16_t>(bits)), high = from(static_cast<std::uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) continue;
    EXPECT_EQ(to(middle), bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(to(std::nextafter(middle, 0.0f)), bits);
    EXPECT_EQ(to(std::nextafter(middle, INFINITY)), bits + 1);
    EXPECT_EQ(to(-middle), 0x8000 | (bits % 2 ? bits + 1 : bits));
  }
}

TEST(Half, Fp16IsExact) { expect_exact(5, 10, from_fp16, to_fp16); }
TEST(Half, Bf16IsExact) { expect_exact(8, 7, from_bf16, to_bf16); }
TEST(Half, Fp16RoundsToEven) { expect_rounding(0x7c00, from_fp16, to_fp16); }
TEST(Half, Bf16RoundsToEven) { expect_rounding(0x7f80, from_bf16, to_bf16); }

TEST(Half, TooLargeBecomesInfinity) {
  EXPECT_EQ(to_fp16(65519.0f), 0x7bff);
  EXPECT_EQ(to_fp16(65520.0f), 0x7c00);
  EXPECT_EQ(to_fp16(-1e10f), 0xfc00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_fp16(std::numeric_limits<float>::denorm_min()), 0);
}

}  // namespace
}  // namespace baleen
