/// \file Strides of reshaped views against walking the elements one by one.
#include "compiler/codegen/view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace baleen {
namespace {

/// Offsets of all elements in row-major order.
std::vector<std::int64_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<std::int64_t> result{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::int64_t> next;
    for (std::int64_t base : result)
      for (std::int64_t i = 0; i < shape[d]; ++i) next.push_back(base + i * strides[d]);
    result = std::move(next);
  }
  return result;
}

Shape random_factors(std::int64_t count, std::mt19937_64& random) {
  Shape shape;
  while (count > 1) {
    std::int64_t factor = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
    while (count % factor != 0) --factor;
    shape.push_back(factor);
    count /= factor;
  }
  if (random() % 3 == 0) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(random() % (shape.size() + 1)), 1);
  return shape;
}

TEST(View, AReshapedViewHasTheSameElementsInTheSameOrder) {
  std::mt19937_64 random(1);
  int possible = 0, impossible = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    Shape from = random_factors(24, random);
    Strides strides = contiguous_strides(from);
    std::vector<std::int64_t> permutation(from.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    if (random() % 2) std::shuffle(permutation.begin(), permutation.end(), random);
    strides = transpose_strides(strides, permutation);
    Shape permuted;
    for (auto d : permutation) permuted.push_back(from[static_cast<std::size_t>(d)]);
    const Shape to = random_factors(24, random);
    const auto result = reshape_strides(permuted, strides, to);
    (result ? possible : impossible)++;
    if (!result) continue;
    EXPECT_EQ(offsets(to, *result), offsets(permuted, strides)) << to_string(permuted) << to_string(to);
  }
  EXPECT_GT(possible, 500);
  EXPECT_GT(impossible, 500);
}

/// Where there is no view, no strides at all would do: the offsets of the new shape's neighbours contradict each other.
TEST(View, AViewIsFoundWhereverThereIsOne) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    const Shape from{2, 3, 4};
    std::vector<std::int64_t> permutation{0, 1, 2};
    std::shuffle(permutation.begin(), permutation.end(), random);
    const Strides strides = transpose_strides(contiguous_strides(from), permutation);
    Shape permuted;
    for (auto d : permutation) permuted.push_back(from[static_cast<std::size_t>(d)]);
    const Shape to = random_factors(24, random);
    const auto all = offsets(permuted, strides);
    // Strides, if any, are the offsets of the elements one step along each dimension.
    const Strides steps = contiguous_strides(to);
    Strides candidate;
    for (std::size_t d = 0; d < to.size(); ++d)
      candidate.push_back(to[d] == 1 ? 1 : all[static_cast<std::size_t>(steps[d])]);
    const bool exists = offsets(to, candidate) == all;
    EXPECT_EQ(reshape_strides(permuted, strides, to).has_value(), exists) << to_string(permuted) << to_string(to);
  }
}

TEST(View, ContiguousMeansRowMajorWithoutGaps) {
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 99, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(is_contiguous({}, {}));
}

}  // namespace
}  // namespace baleen
