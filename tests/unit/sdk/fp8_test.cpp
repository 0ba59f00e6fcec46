/// \file The 8-bit formats against their definition: all 256 codes of each, and what lies between neighbours.
#include "baleen/fp8.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace baleen {
namespace {

struct Fp8Format {
  int exponent, mantissa;
  std::uint32_t largest;  ///< the code of the largest finite number
  float (*from)(std::uint8_t);
  std::uint8_t (*to)(float);
};
constexpr Fp8Format kE4m3{4, 3, 0x7e, from_e4m3, to_e4m3}, kE5m2{5, 2, 0x7b, from_e5m2, to_e5m2};

/// A finite number, by table 1 of arXiv 2209.05433.
double fp8_value(const Fp8Format& format, std::uint32_t code) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const int e = static_cast<int>((code & 0x7f) >> format.mantissa);
  const int m = static_cast<int>(code & ((1u << format.mantissa) - 1));
  const double size = e == 0 ? std::ldexp(m, 1 - bias - format.mantissa)
                             : std::ldexp(m + (1 << format.mantissa), e - bias - format.mantissa);
  return code & 0x80 ? -size : size;
}

/// The nearest finite code of a finite number, found by looking at all of them; of two the even one.
std::uint32_t nearest_fp8(const Fp8Format& format, double x) {
  std::uint32_t best = 0;
  const double size = std::min(std::abs(x), fp8_value(format, format.largest));
  for (std::uint32_t code = 0; code <= format.largest; ++code) {
    const double own = std::abs(fp8_value(format, code) - size), other = std::abs(fp8_value(format, best) - size);
    if (own < other || (own == other && code % 2 == 0)) best = code;
  }
  return best | (std::signbit(x) ? 0x80u : 0u);
}

class Fp8 : public testing::TestWithParam<Fp8Format> {};

TEST_P(Fp8, EveryFiniteCodeIsExactAndComesBack) {
  const Fp8Format& format = GetParam();
  for (std::uint32_t code = 0; code < 0x100; ++code) {
    if ((code & 0x7f) > format.largest) continue;
    const float x = format.from(static_cast<std::uint8_t>(code));
    EXPECT_EQ(static_cast<double>(x), fp8_value(format, code)) << code;
    EXPECT_EQ(std::signbit(x), code >= 0x80) << code;
    EXPECT_EQ(format.to(x), code);
  }
}

TEST_P(Fp8, BetweenNeighboursTheNearerOneIsTakenAndTheEvenOneFromTheMiddle) {
  const Fp8Format& format = GetParam();
  for (std::uint32_t code = 0; code < format.largest; ++code) {
    const float low = format.from(static_cast<std::uint8_t>(code)),
                high = format.from(static_cast<std::uint8_t>(code + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_TRUE(low < middle && middle < high);
    const std::uint32_t even = code % 2 ? code + 1 : code;
    EXPECT_EQ(format.to(middle), even);
    EXPECT_EQ(format.to(-middle), 0x80 | even);
    EXPECT_EQ(format.to(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(format.to(std::nextafter(middle, INFINITY)), code + 1);
  }
}

TEST_P(Fp8, AnyFiniteFloatBecomesTheNearestCode) {
  const Fp8Format& format = GetParam();
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(x)) continue;
    ASSERT_EQ(format.to(x), nearest_fp8(format, static_cast<double>(x))) << x;
  }
  // Most floats are far off; these lie where codes do, small ones too.
  std::uniform_real_distribution<float> exponents(-20, 17);
  for (int i = 0; i < 20000; ++i) {
    const float x = std::exp2(exponents(random)) * (random() % 2 ? 1.0f : -1.0f);
    ASSERT_EQ(format.to(x), nearest_fp8(format, static_cast<double>(x))) << x;
  }
}

TEST_P(Fp8, TooLargeBecomesTheLargestAndDenormalsBecomeZero) {
  const Fp8Format& format = GetParam();
  const float most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(format.to(most), format.largest);
  EXPECT_EQ(format.to(-most), 0x80 | format.largest);
  EXPECT_EQ(format.to(least), 0);
  EXPECT_EQ(format.to(-least), 0x80);
}

INSTANTIATE_TEST_SUITE_P(Formats, Fp8, testing::Values(kE4m3, kE5m2),
                         [](const auto& info) { return info.param.exponent == 4 ? "e4m3" : "e5m2"; });

TEST(Fp8Edges, WhatIsNotFiniteStaysVisible) {
  EXPECT_EQ(to_e4m3(INFINITY), 0x7f);
  EXPECT_EQ(to_e4m3(-INFINITY), 0xff);
  EXPECT_EQ(to_e5m2(INFINITY), 0x7c);
  EXPECT_EQ(to_e5m2(-INFINITY), 0xfc);
  for (const float nan : {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7f800001u)}) {
    EXPECT_EQ(to_e4m3(nan), 0x7f);
    EXPECT_TRUE(std::isnan(from_e5m2(to_e5m2(nan))));
  }
  for (const int code : {0x7f, 0xff}) EXPECT_TRUE(std::isnan(from_e4m3(static_cast<std::uint8_t>(code))));
  for (const int code : {0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff})
    EXPECT_TRUE(std::isnan(from_e5m2(static_cast<std::uint8_t>(code))));
  EXPECT_EQ(from_e5m2(0x7c), INFINITY);
  EXPECT_EQ(from_e5m2(0xfc), -INFINITY);
}

TEST(Fp8Edges, DtypesKnowTheirLargestNumberAndDigits) {
  EXPECT_EQ(from_e4m3(0x7e), fp8_largest(BALEEN_E4M3));
  EXPECT_EQ(from_e5m2(0x7b), fp8_largest(BALEEN_E5M2));
  for (const auto& [dtype, digits] : {std::pair{BALEEN_E4M3, 4}, std::pair{BALEEN_E5M2, 3}}) {
    EXPECT_EQ(dtype_size(dtype), 1u);
    EXPECT_EQ(dtype_digits(dtype), digits);
    EXPECT_TRUE(is_floating(dtype) && is_fp8(dtype));
  }
  EXPECT_EQ(dtype_name(BALEEN_E4M3), "fp8_e4m3");
  EXPECT_EQ(dtype_name(BALEEN_E5M2), "fp8_e5m2");
  EXPECT_FALSE(is_fp8(BALEEN_U8) || is_fp8(BALEEN_BF16));
}

}  // namespace
}  // namespace baleen
