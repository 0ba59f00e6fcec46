/// \file How a gradient is made a matrix.
#include <gtest/gtest.h>

#include <array>

#include "power.hpp"

namespace baleen::compress {
namespace {

TEST(PowerShape, DividesDimensionsWhereBothSidesAreFewest) {
  const auto of = [](std::vector<std::int64_t> shape, std::int64_t rank) {
    const PowerShape made = power_shape(shape, rank);
    return std::array{made.rows, made.columns, made.rank};
  };
  EXPECT_EQ(of({64, 3, 4, 16}, 4), (std::array<std::int64_t, 3>{64, 192, 4}));
  EXPECT_EQ(of({4, 16, 64}, 4), (std::array<std::int64_t, 3>{64, 64, 4}));
  EXPECT_EQ(of({256, 64}, 100), (std::array<std::int64_t, 3>{256, 64, 64})) << "no more columns than there are";
  EXPECT_EQ(of({5000}, 4), (std::array<std::int64_t, 3>{1, 5000, 1}));
  EXPECT_EQ(of({2, 3, 5, 7}, 9), (std::array<std::int64_t, 3>{30, 7, 7}));
}

TEST(PowerShape, GainsByTheClosedForm) {
  EXPECT_DOUBLE_EQ(power_shape(std::array<std::int64_t, 2>{1000, 200}, 4).gain(), 1000.0 * 200 / (4 * 1200));
  EXPECT_LT(power_shape(std::array<std::int64_t, 1>{5000}, 4).gain(), 1) << "a vector only grows";
}

}  // namespace
}  // namespace baleen::compress
