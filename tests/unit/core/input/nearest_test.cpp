/// \file Edit distances against a plain recursive definition, and the wording of suggestions.
#include "core/input/nearest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace baleen {
namespace {

/// The definition of optimal string alignment, without any table.
std::size_t slow_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const auto a1 = a.substr(0, a.size() - 1), b1 = b.substr(0, b.size() - 1);
  std::size_t best = slow_distance(a1, b1) + (a.back() == b.back() ? 0 : 1);
  best = std::min({best, slow_distance(a1, b) + 1, slow_distance(a, b1) + 1});
  if (a.size() > 1 && b.size() > 1 && a.back() == b1.back() && a1.back() == b.back())
    best = std::min(best, slow_distance(a.substr(0, a.size() - 2), b.substr(0, b.size() - 2)) + 1);
  return best;
}

TEST(EditDistance, AgreesWithItsDefinition) {
  const unsigned seed = 7;
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  const auto word = [&] {
    std::string text(random() % 7, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  for (int i = 0; i < 300; ++i) {
    const std::string a = word(), b = word();
    EXPECT_EQ(edit_distance(a, b), slow_distance(a, b)) << a << " and " << b << ", seed " << seed;
  }
}

TEST(Nearest, FindsWhatWasMeant) {
  const std::vector<std::string> known = {"cluster", "mesh", "compute", "transport"};
  EXPECT_EQ(nearest("tranport", known), "transport");
  EXPECT_EQ(nearest("mehs", known), "mesh");
  EXPECT_EQ(nearest("Compute", known), "compute");
  EXPECT_EQ(nearest("zebra", known), std::nullopt);
}

TEST(Nearest, TakesDashAndUnderscoreForEqual) {
  EXPECT_EQ(nearest("weight-decay", std::vector<std::string>{"weight", "weight_decay"}), "weight_decay");
}

TEST(UnknownWord, SuggestsTheNearest) {
  EXPECT_EQ(unknown_word("key", "tranport", std::vector<std::string>{"transport"}),
            "unknown key `tranport`; did you mean `transport`?");
}

TEST(UnknownWord, ListsAllWhereNoneIsNear) {
  EXPECT_EQ(unknown_word("key", "zebra", std::vector<std::string>{"mesh", "plan"}),
            "unknown key `zebra`; known: `mesh`, `plan`");
  EXPECT_EQ(unknown_word("key", "zebra", {}), "unknown key `zebra`; there are none");
}

}  // namespace
}  // namespace baleen
