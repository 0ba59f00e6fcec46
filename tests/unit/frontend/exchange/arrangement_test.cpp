/// \file Forms of maps: where elements go, against counting with indices; and what is refused.
#include "frontend/exchange/arrangement.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "support/seed.hpp"

namespace baleen::test {
namespace {

TensorRule rule_of(const std::string& form, std::map<char, std::int64_t> sizes, int tensors = 1,
                   const std::string& stack = "", const std::string& padded = "") {
  TensorRule rule;
  rule.ours = "ours";
  for (int i = 0; i < tensors; ++i) rule.theirs.push_back("theirs" + std::to_string(i));
  rule.form = form;
  rule.sizes = std::move(sizes);
  rule.stack = stack;
  rule.padded = padded;
  rule.where = "map.lua:7";
  return rule;
}

std::string error_of(const TensorRule& rule) {
  const auto made = Arrangement::of(rule);
  return made ? "" : made.error().text();
}

template <class T>
std::vector<T> moved(const Arrangement& arrangement, const std::vector<T>& theirs, std::int64_t padded = 0) {
  std::vector<T> ours(static_cast<std::size_t>(element_count(arrangement.ours(padded))));
  arrangement.to_ours(0, std::as_bytes(std::span(theirs)), std::as_writable_bytes(std::span(ours)), sizeof(T), padded);
  return ours;
}

std::vector<int> counted(std::int64_t count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// A random form of four letters on each side, in groups, and where letter by letter its elements go.
struct RandomForm {
  explicit RandomForm(std::mt19937_64& random) {
    std::string letters = "abcd";
    for (const char letter : letters) sizes[letter] = 1 + static_cast<std::int64_t>(random() % 7);
    sizes[letters[random() % 4]] += 60;  // more than a tile
    theirs = letters;
    std::shuffle(theirs.begin(), theirs.end(), random);
    ours = letters;
    std::shuffle(ours.begin(), ours.end(), random);
    form = grouped(theirs, random) + " -> " + grouped(ours, random);
  }
  static std::string grouped(const std::string& letters, std::mt19937_64& random) {
    const std::size_t cut = 1 + random() % 3;  // a group of the first letters
    std::string text = "(";
    for (std::size_t i = 0; i < cut; ++i) text += std::string(i ? " " : "") + letters[i];
    text += ")";
    for (std::size_t i = cut; i < letters.size(); ++i) text += std::string(" ") + letters[i];
    return text;
  }
  std::int64_t place(const std::string& order, const std::map<char, std::int64_t>& at) const {
    std::int64_t result = 0;
    for (const char letter : order) result = result * sizes.at(letter) + at.at(letter);
    return result;
  }

  std::map<char, std::int64_t> sizes;
  std::string theirs, ours, form;
};

template <class T>
void expect_as_counted(const RandomForm& form) {
  const auto arrangement = Arrangement::of(rule_of(form.form, form.sizes));
  ASSERT_TRUE(arrangement) << arrangement.error().text();
  std::vector<T> theirs(static_cast<std::size_t>(element_count(arrangement->theirs())));
  for (std::size_t i = 0; i < theirs.size(); ++i) theirs[i] = static_cast<T>(i * 2654435761u);
  const std::vector<T> ours = moved(*arrangement, theirs);
  std::map<char, std::int64_t> at;
  for (at['a'] = 0; at['a'] < form.sizes.at('a'); ++at['a'])
    for (at['b'] = 0; at['b'] < form.sizes.at('b'); ++at['b'])
      for (at['c'] = 0; at['c'] < form.sizes.at('c'); ++at['c'])
        for (at['d'] = 0; at['d'] < form.sizes.at('d'); ++at['d'])
          ASSERT_EQ(ours[static_cast<std::size_t>(form.place(form.ours, at))],
                    theirs[static_cast<std::size_t>(form.place(form.theirs, at))])
              << form.form;
  std::vector<T> back(theirs.size());
  arrangement->to_theirs(0, std::as_bytes(std::span(ours)), std::as_writable_bytes(std::span(back)), sizeof(T));
  EXPECT_EQ(std::memcmp(back.data(), theirs.data(), theirs.size() * sizeof(T)), 0) << form.form;
}

TEST(Arrangement, MovesEveryElementToWhereItsLettersSay) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 20; ++i) {
    const RandomForm form(random);
    expect_as_counted<std::uint32_t>(form);
    expect_as_counted<std::uint16_t>(form);
    if (i % 5 == 0) expect_as_counted<std::uint64_t>(form);
  }
}

TEST(Arrangement, OneSideAloneIsBoth) {
  const auto arrangement = Arrangement::of(rule_of("v e", {{'v', 3}, {'e', 2}}));
  ASSERT_TRUE(arrangement);
  EXPECT_EQ(arrangement->theirs(), (Shape{3, 2}));
  EXPECT_EQ(moved(*arrangement, counted(6)), counted(6));
}

TEST(Arrangement, StacksTensorsAlongALetter) {
  const auto arrangement = Arrangement::of(rule_of("h e -> e p h", {{'h', 2}, {'e', 2}, {'p', 3}}, 3, "p"));
  ASSERT_TRUE(arrangement) << arrangement.error().text();
  EXPECT_EQ(arrangement->theirs(), (Shape{2, 2}));
  EXPECT_EQ(arrangement->ours(), (Shape{2, 3, 2}));
  std::vector<int> ours(12, -1);
  for (std::size_t part = 0; part < 3; ++part) {
    const int base = static_cast<int>(part) * 10;
    const std::vector<int> theirs{base, base + 1, base + 2, base + 3};  // [h][e]
    arrangement->to_ours(part, std::as_bytes(std::span(theirs)), std::as_writable_bytes(std::span(ours)), sizeof(int));
  }
  EXPECT_EQ(ours, (std::vector<int>{0, 2, 10, 12, 20, 22, 1, 3, 11, 13, 21, 23}));
  std::vector<int> back(4);
  arrangement->to_theirs(1, std::as_bytes(std::span(ours)), std::as_writable_bytes(std::span(back)), sizeof(int));
  EXPECT_EQ(back, (std::vector<int>{10, 11, 12, 13}));
}

TEST(Arrangement, PadsWithWhatIsThereAndCutsIt) {
  const auto arrangement = Arrangement::of(rule_of("v e -> e v", {{'v', 3}, {'e', 2}}, 1, "", "v"));
  ASSERT_TRUE(arrangement);
  EXPECT_EQ(arrangement->padded_extent(4), 4);
  EXPECT_EQ(arrangement->ours(4), (Shape{2, 4}));
  const std::vector<int> ours = moved(*arrangement, counted(6), 4);
  EXPECT_EQ(ours, (std::vector<int>{0, 2, 4, 0, 1, 3, 5, 0}));
  std::vector<int> back(6);
  arrangement->to_theirs(0, std::as_bytes(std::span(ours)), std::as_writable_bytes(std::span(back)), sizeof(int), 4);
  EXPECT_EQ(back, counted(6));
  EXPECT_EQ(*arrangement->padded_in({2, 5}), 5);
  EXPECT_FALSE(arrangement->padded_in({2, 2})) << "shorter than the tensor";
  EXPECT_FALSE(arrangement->padded_in({3, 4}));
  EXPECT_FALSE(arrangement->padded_in({2, 3, 1}));
}

TEST(Arrangement, RefusesFormsThatSayNothing) {
  const std::map<char, std::int64_t> sizes{{'a', 2}, {'b', 3}, {'p', 2}};
  for (const char* form : {"a (b", "a b)", "((a) b)", "a 1", "A b", "a b -> b () a", "a -> b >"})
    EXPECT_NE(error_of(rule_of(form, sizes)).find("map.lua:7: map: `ours`: form \"" + std::string(form) + "\""),
              std::string::npos)
        << form << ": " << error_of(rule_of(form, sizes));
  EXPECT_NE(error_of(rule_of("a b -> a", sizes)).find("the same letters"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a a -> a a", sizes)).find("twice"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a c -> c a", sizes)).find("`sizes` lacks `c`"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a b", sizes, 2)).find("there are 2 tensors and no `stack`"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a b -> p a b", sizes, 3, "p")).find("`p` is 2, but there are 3"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a p -> p a", sizes, 2, "p")).find("right side alone"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a b -> (a b)", sizes, 1, "", "a")).find("a dimension of its own"), std::string::npos);
  EXPECT_NE(error_of(rule_of("a b", {{'a', std::int64_t{1} << 40}, {'b', std::int64_t{1} << 40}})).find("too many"),
            std::string::npos);
}

}  // namespace
}  // namespace baleen::test
