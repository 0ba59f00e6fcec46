/// \file The keyed permutation that shuffles data.
#include "baleen/permutation.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace {

using baleen::sdk::Permutation;

std::vector<std::uint64_t> all(std::uint64_t size, std::uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<std::uint64_t> result;
  for (std::uint64_t i = 0; i < size; ++i) result.push_back(permutation(i));
  return result;
}

TEST(Permutation, ReachesEveryNumberOnce) {
  for (std::uint64_t size : {1, 2, 3, 4, 5, 15, 16, 17, 63, 64, 65, 1000, 4097}) {
    const auto images = all(size, 7);
    const std::set<std::uint64_t> distinct(images.begin(), images.end());
    EXPECT_EQ(distinct.size(), size);
    EXPECT_LT(*distinct.rbegin(), size);
  }
}

TEST(Permutation, DependsOnTheKeyAlone) {
  EXPECT_EQ(all(1000, 1), all(1000, 1));
  EXPECT_NE(all(1000, 1), all(1000, 2));
}

TEST(Permutation, WorksOnSizesThatNoArrayHolds) {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12345;
  const Permutation permutation(size, 3);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 10'000; ++i) seen.insert(permutation(i));
  EXPECT_EQ(seen.size(), 10'000u);
  EXPECT_LT(*seen.rbegin(), size);
}

/// Six standard deviations of a fair draw are 250; a weak round function leaves far larger gaps.
TEST(Permutation, DrawsEachPlaceAboutEquallyOften) {
  constexpr std::uint64_t kSize = 10, kKeys = 20'000;
  std::vector<std::vector<int>> counts(kSize, std::vector<int>(kSize));
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    const auto images = all(kSize, key);
    for (std::uint64_t i = 0; i < kSize; ++i) ++counts[i][images[i]];
  }
  const double expected = static_cast<double>(kKeys) / kSize;
  for (std::uint64_t i = 0; i < kSize; ++i)
    for (std::uint64_t j = 0; j < kSize; ++j) EXPECT_NEAR(counts[i][j], expected, 250) << i << " to " << j;
}

}  // namespace
