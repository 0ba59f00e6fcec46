/// \file What compressed files begin with.
#include "baleen/packed.hpp"

#include <gtest/gtest.h>

namespace baleen::sdk {
namespace {

using namespace std::string_view_literals;

TEST(Packed, IsKnownByItsFirstBytes) {
  EXPECT_EQ(packed_by("\x1f\x8b\x08\x00\x00"sv), "gzip");
  EXPECT_EQ(packed_by("PK\x03\x04\x14\x00"sv), "zip");
  EXPECT_EQ(packed_by("\xfd"
                      "7zXZ\0\0"sv),
            "xz");
  EXPECT_EQ(packed_by("BZh91AY&SY\x00"sv), "bzip2");
  EXPECT_EQ(packed_by("\x28\xb5\x2f\xfd\x00"sv), "zstd");
}

TEST(Packed, TakesNoTextForIt) {
  for (const std::string_view text : {""sv, "B"sv, "BZh9 was here"sv, "PK,1\n"sv, "\x1f\x8b"sv,
                                      "\xef\xbb\xbf"
                                      "a,b\n"sv})
    EXPECT_EQ(packed_by(text), "") << text;
}

TEST(Packed, IsRefusedWithItsPath) {
  const Status refused = refuse_packed("\x1f\x8b\x08"sv, "a.csv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(), "a.csv: is compressed by gzip; unpack it first");
  EXPECT_TRUE(refuse_packed("a,b\n", "a.csv"));
}

}  // namespace
}  // namespace baleen::sdk
