/// \file Short lists of numbers do what a std::vector does.
#include <gtest/gtest.h>

#include <random>

#include "compiler/graph/ids.hpp"
#include "support/seed.hpp"

namespace baleen {
namespace {

std::vector<std::uint32_t> plain(const Ids& ids) { return ids; }

TEST(Ids, DoWhatAVectorDoes) {
  std::mt19937_64 random(test::seed());
  Ids ids;
  std::vector<std::uint32_t> expected;
  for (int i = 0; i < 20000; ++i) {
    const auto number = static_cast<std::uint32_t>(random());
    const auto at = static_cast<std::ptrdiff_t>(random() % (expected.size() + 1));
    switch (random() % 8) {
      case 0:
      case 1: ids.push_back(number), expected.push_back(number); break;
      case 2: ids.insert(ids.begin() + at, number), expected.insert(expected.begin() + at, number); break;
      case 3:
        if (at < std::ssize(expected)) ids.erase(ids.begin() + at), expected.erase(expected.begin() + at);
        break;
      case 4: {
        Ids copy = ids;
        ids.push_back(number);  // the copy does not see it
        EXPECT_EQ(plain(copy), expected);
        ids = std::move(copy);
        break;
      }
      case 5: {
        Ids moved = std::move(ids);
        ids = moved;
        break;
      }
      case 6:
        if (expected.size() > 12) ids.clear(), expected.clear();
        break;
      default:
        if (!expected.empty()) {
          const std::size_t one = random() % expected.size();
          ids[one] = expected[one] = number;
          EXPECT_EQ(ids.at(one), number);
        }
    }
    ASSERT_EQ(plain(ids), expected) << "after " << i;
    ASSERT_EQ(ids.size(), expected.size());
    ASSERT_EQ(ids.empty(), expected.empty());
  }
}

TEST(Ids, AreMadeOfLists) {
  for (std::uint32_t size = 0; size < 12; ++size) {
    std::vector<std::uint32_t> list(size);
    for (std::uint32_t i = 0; i < size; ++i) list[i] = 100 - i;
    Ids ids = list;
    EXPECT_EQ(ids, list);
    EXPECT_EQ(std::vector<std::uint32_t>(ids.rbegin(), ids.rend()),
              std::vector<std::uint32_t>(list.rbegin(), list.rend()));
    Ids other = {7, 8};
    other = std::move(ids);
    EXPECT_EQ(other, list);
    other = {7, 8};
    EXPECT_EQ(other, (std::vector<std::uint32_t>{7, 8}));
    EXPECT_EQ(other.front(), 7u);
    EXPECT_EQ(other.back(), 8u);
  }
}

TEST(Ids, SayWhereThereIsNone) { EXPECT_THROW(Ids({1, 2}).at(2), std::out_of_range); }

}  // namespace
}  // namespace baleen
