/// \file What a conversion to fewer digits makes infinite is counted, and nothing else.
#include "frontend/exchange/overflows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace baleen::test {
namespace {

HostTensor list_of(const std::vector<double>& numbers, baleen_dtype_t dtype) {
  return *tensor_of(numbers, dtype, {static_cast<std::int64_t>(numbers.size())});
}

TEST(Overflows, CountFiniteNumbersThatADtypeDoesNotHold) {
  Overflows overflows;
  EXPECT_EQ(overflows.text(), "");
  const auto half = overflows.convert("w", list_of({65504, 1e6, INFINITY, NAN, -7e4}, BALEEN_F32), BALEEN_F16);
  ASSERT_TRUE(half);
  const std::vector<double> numbers = numbers_of(*half);
  EXPECT_EQ(numbers[0], 65504);
  EXPECT_EQ(numbers[1], INFINITY);
  EXPECT_EQ(numbers[4], -INFINITY);
  EXPECT_TRUE(overflows.text().starts_with("2 numbers of `w` are too great for fp16 and became infinite; "))
      << overflows.text();
  ASSERT_TRUE(overflows.convert("b", list_of({1e6, 1}, BALEEN_BF16), BALEEN_F16));
  EXPECT_TRUE(overflows.text().starts_with("2 numbers of `w`, and 1 of 1 other tensor, are too great for fp16"))
      << overflows.text();
}

TEST(Overflows, AreNoneWhereAllIsHeld) {
  Overflows overflows;
  ASSERT_TRUE(overflows.convert("a", list_of({65504, -1, 1e-9}, BALEEN_F32), BALEEN_F16));
  ASSERT_TRUE(overflows.convert("b", list_of({1e30, 1e38}, BALEEN_F32), BALEEN_BF16));
  ASSERT_TRUE(overflows.convert("c", list_of({1e38}, BALEEN_BF16), BALEEN_F32));
  ASSERT_TRUE(overflows.convert("d", list_of({1e300}, BALEEN_F64), BALEEN_F64));
  EXPECT_EQ(overflows.text(), "");
  ASSERT_TRUE(overflows.convert("e", list_of({1e300}, BALEEN_F64), BALEEN_F32));
  EXPECT_TRUE(overflows.text().starts_with("1 number of `e` is too great for fp32")) << overflows.text();
}

}  // namespace
}  // namespace baleen::test
