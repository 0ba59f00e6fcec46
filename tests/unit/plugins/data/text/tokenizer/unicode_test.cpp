/// \file UTF-8, properties and patterns.
#include <gtest/gtest.h>

#include "tokenizer/regex.hpp"
#include "tokenizer/unicode.hpp"

namespace {

using namespace baleen::text;

TEST(Unicode, KnowsWhatUtf8Is) {
  EXPECT_EQ(end_of_utf8("añ日🙂"), 10u);
  for (const char* bad :
       {"a\x80", "a\xc0\x80", "a\xe0\x80\x80", "a\xed\xa0\x80", "a\xf4\x90\x80\x80", "a\xe6\x97", "a\xff"})
    EXPECT_EQ(end_of_utf8(bad), 1u);
}

TEST(Unicode, GoesThroughCharactersBothWays) {
  const std::string text = "añ日🙂";
  std::size_t at = 0;
  std::string again;
  for (const char32_t expected : U"añ日🙂") {
    if (expected == 0) break;
    EXPECT_EQ(take_character(text, at), expected);
    EXPECT_EQ(character_before(text, at), expected);
    append_utf8(again, expected);
  }
  EXPECT_EQ(again, text);
}

TEST(Unicode, HasNormalForms) {
  EXPECT_EQ(NormalForm(Form::nfd).of("é"), "e\u0301");
  EXPECT_EQ(NormalForm(Form::nfc).of("e\u0301"), "é");
  EXPECT_EQ(NormalForm(Form::nfkc).of("ﬁ①"), "fi1");
  EXPECT_EQ(NormalForm(Form::nfd).of("가"), "\u1100\u1161");
  EXPECT_EQ(NormalForm(Form::nfkc).of("\u32ff"), "\u32ff") << "the sign of an era that came with Unicode 12.1";
}

TEST(Unicode, LowersEachCharacterByItself) { EXPECT_EQ(lower_case("ΑΣ İ ẞ"), "ασ i\u0307 ß"); }

TEST(Unicode, FindsPatternsInBytes) {
  const auto regex = Regex::compile("\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)", "here");
  ASSERT_TRUE(regex) << regex.error().text();
  const std::string text = "日本é 12345  x";
  std::vector<Span> matches;
  ASSERT_TRUE(regex->find(text, matches));
  std::vector<std::string> found;
  for (const Span& match : matches) found.push_back(text.substr(match.first, match.last - match.first));
  EXPECT_EQ(found, (std::vector<std::string>{"日本é", "123", "45", " ", "x"}));
}

TEST(Unicode, TakesLinesAsRubyDoes) {
  const auto regex = Regex::compile("^.+$", "here");
  ASSERT_TRUE(regex);
  std::vector<Span> matches;
  ASSERT_TRUE(regex->find("a\rb\nc", matches));
  ASSERT_EQ(matches.size(), 2u);
  EXPECT_EQ(matches[0].last, 3u) << "a carriage return ends no line";
}

}  // namespace
