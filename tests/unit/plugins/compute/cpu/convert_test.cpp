/// \file Rows of bf16 and fp16 to fp32 and fp64 and back, with every instruction set: all values, all ties, all lengths
/// of the rest behind whole vectors.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "available_routines.hpp"
#include "baleen/half.hpp"

namespace baleen::cpu {
namespace {

using Bits = std::vector<std::uint16_t>;

struct Format {
  const char* name;
  Storage storage;
  float (*from)(std::uint16_t);
  std::uint16_t (*to)(float);
};
const Format kFormats[] = {{"bf16", Storage::kBf16, from_bf16, to_bf16}, {"fp16", Storage::kFp16, from_fp16, to_fp16}};

template <class T>
const RoutinesOf<T>& of(const Routines& r) {
  if constexpr (sizeof(T) == 4)
    return r.f32;
  else
    return r.f64;
}

Bits all_values() {
  Bits all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

/// Every value, the middle between it and the next, what lies beside that, and edges; as T.
template <class T>
std::vector<T> numbers(const Format& format) {
  std::vector<T> out{T(INFINITY), T(-INFINITY), T(NAN),     T(65519.996), T(65520),
                     T(-1e30),    T(3.4e38),    T(-3.4e38), T(1e-45),     T(-1e-40)};
  for (const std::uint16_t bits : all_values()) {
    const float x = format.from(bits), next = format.from(static_cast<std::uint16_t>(bits + 1));
    out.push_back(static_cast<T>(x));
    if (!std::isfinite(x) || !std::isfinite(next)) continue;
    const T middle = (static_cast<T>(x) + static_cast<T>(next)) / 2;
    for (const T towards : {T(-INFINITY), T(INFINITY)}) out.push_back(std::nextafter(middle, towards));
    out.push_back(middle);
  }
  return out;
}

/// What x must become: of the two values around it the nearer one, from the middle the even one.
std::uint16_t expected(const Format& format, float x) { return format.to(x); }
std::uint16_t expected(const Format& format, double x) {
  const auto narrow = static_cast<float>(x);
  const std::uint16_t bits = format.to(narrow);
  const double back = static_cast<double>(narrow);
  if (std::isnan(x) || back == x) return bits;
  // Inexact in fp32: only at a tie of the 16 bits does it matter on which side x was.
  const std::uint16_t below = format.to(std::nextafter(narrow, -INFINITY)),
                      above = format.to(std::nextafter(narrow, INFINITY));
  return below == above ? bits : x < back ? below : above;
}

bool is_nan(const Format& format, std::uint16_t bits) { return std::isnan(format.from(bits)); }

template <class T>
class Convert : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Convert, Types);

TYPED_TEST(Convert, WidensAllValues) {
  const Bits all = all_values();
  for (const Routines* r : available_routines())
    for (const Format& format : kFormats) {
      SCOPED_TRACE(std::string(r->name) + ", " + format.name);
      std::vector<TypeParam> wide(all.size());
      of<TypeParam>(*r).widen(wide.data(), all.data(), format.storage, 65536);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto wanted = static_cast<TypeParam>(format.from(all[i]));
        ASSERT_TRUE(std::isnan(wanted) ? std::isnan(wide[i])
                                       : wide[i] == wanted && std::signbit(wide[i]) == std::signbit(wanted))
            << i;
      }
    }
}

TYPED_TEST(Convert, RoundsToTheNearestAndFromTheMiddleToTheEven) {
  for (const Format& format : kFormats) {
    const std::vector<TypeParam> wide = numbers<TypeParam>(format);
    for (const Routines* r : available_routines()) {
      SCOPED_TRACE(std::string(r->name) + ", " + format.name);
      Bits narrow(wide.size());
      std::vector<TypeParam> round(wide.size());
      const auto count = static_cast<Index>(wide.size());
      of<TypeParam>(*r).narrow(narrow.data(), wide.data(), format.storage, count);
      of<TypeParam>(*r).round(round.data(), wide.data(), format.storage, count);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        const std::uint16_t wanted = expected(format, wide[i]);
        ASSERT_TRUE(narrow[i] == wanted || (is_nan(format, wanted) && is_nan(format, narrow[i])))
            << wide[i] << " became " << narrow[i] << ", wanted " << wanted;
        const auto value = static_cast<TypeParam>(format.from(wanted));
        ASSERT_TRUE(round[i] == value || (std::isnan(value) && std::isnan(round[i]))) << wide[i];
      }
    }
  }
}

TYPED_TEST(Convert, LeavesWhatLiesBehindTheRow) {
  for (const Format& format : kFormats)
    for (const Routines* r : available_routines())
      for (Index count = 0; count < 70; ++count) {
        SCOPED_TRACE(std::string(r->name) + ", " + format.name + ", " + std::to_string(count));
        std::vector<TypeParam> wide(72, TypeParam(7)), back(72, TypeParam(7));
        Bits narrow(72, 0x1234);
        for (Index i = 0; i < count; ++i) wide[static_cast<std::size_t>(i)] = TypeParam(i) / 2;
        of<TypeParam>(*r).narrow(narrow.data() + 1, wide.data(), format.storage, count);
        of<TypeParam>(*r).widen(back.data() + 1, narrow.data() + 1, format.storage, count);
        EXPECT_EQ(narrow.front(), 0x1234);
        EXPECT_EQ(back.front(), TypeParam(7));
        for (std::size_t i = 1; i < 72; ++i) {
          const bool inside = static_cast<Index>(i) <= count;
          ASSERT_EQ(back[i], inside ? wide[i - 1] : TypeParam(7)) << i;
          ASSERT_TRUE(inside || narrow[i] == 0x1234) << i;
        }
      }
}

}  // namespace
}  // namespace baleen::cpu
