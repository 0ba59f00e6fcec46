/// \file Patterns of names.
#include "baleen/pattern.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using baleen::matches;

/// By the definition, character by character: no star that is remembered.
bool matches_slowly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return matches_slowly(pattern.substr(1), text) || (!text.empty() && matches_slowly(pattern, text.substr(1)));
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) &&
         matches_slowly(pattern.substr(1), text.substr(1));
}

TEST(Pattern, MatchByTheirDefinition) {
  EXPECT_TRUE(matches("*.bias", "blocks.3.up.bias"));
  EXPECT_TRUE(matches("blocks.?.*", "blocks.3.up.bias"));
  EXPECT_FALSE(matches("blocks.?.*", "blocks.12.up.bias"));
  EXPECT_FALSE(matches("bias", "up.bias")) << "a pattern stands for the whole name";
  EXPECT_FALSE(matches("up.", "up.bias"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("?", ""));
  EXPECT_TRUE(matches("", ""));
}

/// All patterns of up to five and all texts of up to six characters over small alphabets.
TEST(Pattern, MatchAsTheSlowDefinitionDoes) {
  auto all = [](const std::string& alphabet, std::size_t longest) {
    std::vector<std::string> words{""};
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i].size() < longest)
        for (char c : alphabet) words.push_back(words[i] + c);
    return words;
  };
  const auto texts = all("ab", 6);
  for (const std::string& pattern : all("ab*?", 5))
    for (const std::string& text : texts)
      ASSERT_EQ(matches(pattern, text), matches_slowly(pattern, text)) << "'" << pattern << "' on '" << text << "'";
}

}  // namespace
