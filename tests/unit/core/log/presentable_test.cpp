/// \file What a terminal gets of text that nobody has checked.
#include "core/log/presentable.hpp"

#include <gtest/gtest.h>

namespace baleen {
namespace {

TEST(Presentable, LeavesTextAsItIs) {
  for (const char* const text : {"", "für λ", "two\nlines\tand a tab\n", "日本 🐋", "\xc2\xa0", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(presentable(text), text);
}

TEST(Presentable, WritesControlCharactersOut) {
  EXPECT_EQ(presentable("a\x1b[31mred\a\tb\nc\x7f\r"), "a\\x1b[31mred\\x07\tb\nc\\x7f\\x0d");
  EXPECT_EQ(presentable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(presentable("\xc2\x9b"
                        "31m"),
            "\\xc2\\x9b"
            "31m")
      << "U+009B begins a command as ESC [ does";
}

TEST(Presentable, WritesBytesOutThatAreNoUtf8) {
  EXPECT_EQ(presentable("a\xff"
                        "b"),
            "a\\xffb");
  EXPECT_EQ(presentable("\xce"), "\\xce") << "half a letter";
  EXPECT_EQ(presentable("\xcex"), "\\xcex");
  EXPECT_EQ(presentable("\xe2\x82x"), "\\xe2\\x82x");
  EXPECT_EQ(presentable("\xbb"), "\\xbb") << "the rest of a letter";
  EXPECT_EQ(presentable("\xc0\x9b"), "\\xc0\\x9b") << "ESC in two bytes";
  EXPECT_EQ(presentable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(presentable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(presentable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past U+10FFFF";
}

TEST(Presentable, CutsBetweenCharacters) {
  EXPECT_EQ(presentable("abcd", 4), "abcd");
  EXPECT_EQ(presentable("abcdef", 4), "abcd... (2 bytes more)");
  EXPECT_EQ(presentable("xλλλ", 4), "xλλ... (2 bytes more)");
}

}  // namespace
}  // namespace baleen
