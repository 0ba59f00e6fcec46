/// \file Where long texts are cut.
#include <gtest/gtest.h>

#include <random>

#include "sample_tokenizers.hpp"
#include "support/seed.hpp"
#include "tokenizer/text_parts.hpp"

namespace {

using namespace baleen::text;
using namespace baleen::test;

std::string joined(const std::vector<std::string_view>& parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

TEST(TextParts, LoseNothingAndKeepTheirSize) {
  std::mt19937_64 random(seed());
  const std::string letters = "ab \n\r\n\n é日🙂.\t";
  std::string text;
  while (text.size() < 20'000) text += letters[random() % letters.size()];  // not UTF-8 all over
  for (const std::size_t most : {16u, 100u, 5000u}) {
    const auto parts = parts_of_text(text, most);
    EXPECT_EQ(joined(parts), text);
    for (const std::string_view part : parts) {
      EXPECT_LE(part.size(), most);
      EXPECT_GT(part.size(), 0u);
    }
  }
  EXPECT_EQ(joined(parts_of_lines(text, 100)), text);
  for (const std::string_view part : parts_of_lines(text, 100))
    EXPECT_TRUE(part.ends_with('\n') || &part.back() == &text.back());
}

TEST(TextParts, EndWhereLinesMeetWithoutWhiteSpace) {
  const std::string text = "aaaa bbbb\ncccc\n\ndddd eeee";
  const auto parts = parts_of_text(text, 18);
  ASSERT_GE(parts.size(), 2u);
  EXPECT_EQ(parts[0], "aaaa bbbb\n") << "not at the empty line behind";
  EXPECT_EQ(parts_of_text("aaaaaaaa\r\nbbbbbbbbb", 16)[0], "aaaaaaaa");
  EXPECT_EQ(parts_of_text("aaaaaaaaaaaaaaaaaaaa", 16)[0].size(), 16u);
  EXPECT_EQ(parts_of_text("日日日日日日日日", 16)[0], "日日日日日") << "no half characters";
}

/// Encoding parts gives the ids of the whole.
TEST(TextParts, ChangeNoTokensOfByteLevelTokenizers) {
  const auto tokenizer = read_tokenizer_json(small_json(), "t.json");
  ASSERT_TRUE(tokenizer);
  std::mt19937_64 random(seed());
  const std::vector<std::string> words = {"the", "then", "they", "12", "don't", "x", ");", "日本", "é", "\u3000"};
  const std::vector<std::string> spaces = {" ", "\n", "\n", "\n\n", "\r\n", "  ", "\n  ", "\t", " \n"};
  std::string text;
  for (int i = 0; i < 4000; ++i) text += words[random() % words.size()] + spaces[random() % spaces.size()];
  std::vector<std::uint32_t> whole, parts;
  ASSERT_TRUE((*tokenizer)->encode(text, whole));
  for (const std::string_view part : parts_of_text(text, 512)) ASSERT_TRUE((*tokenizer)->encode(part, parts));
  EXPECT_EQ(parts, whole);
}

}  // namespace
