/// \file Reductions against the tree as it is defined, element by element, from sources that lie at any address.
#include "baleen/reduction.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "baleen/collective.hpp"
#include "baleen/dtype.hpp"

namespace baleen {

using namespace sdk;

namespace {

constexpr std::size_t kCount = 3'001;  // some tiles, and what no vector fills

using Numbers = std::vector<std::byte>;

Numbers random_numbers(baleen_dtype_t dtype, std::mt19937& random) {
  Numbers bytes(kCount * dtype_size(dtype));
  std::uniform_int_distribution<int> small(-100, 100);
  for (std::size_t i = 0; i < kCount; ++i) {
    const int x = small(random);
    const auto put = [&](auto value) { std::memcpy(&bytes[i * sizeof value], &value, sizeof value); };
    switch (dtype) {
      case BALEEN_F32: put(static_cast<float>(x) * 0.1F); break;
      case BALEEN_F64: put(x * 0.1); break;
      case BALEEN_I32: put(std::int32_t{x}); break;
      default: put(std::int64_t{x}); break;
    }
  }
  return bytes;
}

template <class T>
T tree(const std::vector<Numbers>& sources, std::size_t low, std::size_t high, std::size_t i, bool adds) {
  if (high - low == 1) {
    T x;
    std::memcpy(&x, &sources[low][i * sizeof x], sizeof x);
    return x;
  }
  const std::size_t middle = tree_middle(low, high);
  const T a = tree<T>(sources, low, middle, i, adds), b = tree<T>(sources, middle, high, i, adds);
  return adds ? a + b : std::max(a, b);
}

class Reductions : public testing::TestWithParam<std::tuple<baleen_dtype_t, baleen_reduction_t>> {};
INSTANTIATE_TEST_SUITE_P(Of, Reductions,
                         testing::Combine(testing::Values(BALEEN_F32, BALEEN_F64, BALEEN_I32, BALEEN_I64),
                                          testing::Values(BALEEN_SUM, BALEEN_MAXIMUM)));

TEST_P(Reductions, AreTheTreeWhereverSourcesLie) {
  const auto [dtype, reduction] = GetParam();
  const Reduction reduce = best_reduction(dtype, reduction);
  const std::size_t width = dtype_size(dtype);
  std::mt19937 random(7);
  for (std::size_t members = 1; members <= 5; ++members)
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::vector<Numbers> numbers, places;
      std::vector<const std::byte*> sources;
      for (std::size_t m = 0; m < members; ++m) {
        numbers.push_back(random_numbers(dtype, random));
        places.emplace_back(16 + kCount * width);
        std::byte* const place = &places.back()[(shift * (m + 1)) % 16];
        std::memcpy(place, numbers[m].data(), kCount * width);
        sources.push_back(place);
      }
      std::vector<Numbers> results(2, Numbers(kCount * width));
      std::byte* const to[] = {results[0].data(), results[1].data()};
      reduce(sources.data(), members, to, 1 + shift % 2, kCount);
      const auto compare = [&, is_sum = reduction == BALEEN_SUM]<class T>(T) {
        for (std::size_t i = 0; i < kCount; ++i) {
          const T expected = tree<T>(numbers, 0, members, i, is_sum);
          for (std::size_t d = 0; d < 1 + shift % 2; ++d)
            ASSERT_EQ(std::memcmp(&results[d][i * width], &expected, width), 0)
                << members << " members, shift " << shift << ", element " << i << " of result " << d;
        }
      };
      switch (dtype) {
        case BALEEN_F32: compare(float{}); break;
        case BALEEN_F64: compare(double{}); break;
        case BALEEN_I32: compare(std::int32_t{}); break;
        default: compare(std::int64_t{}); break;
      }
    }
}

}  // namespace
}  // namespace baleen
