/// \file Keys against values that Python's hmac computed after RFC 5869.
#include "ssh/crypto.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace baleen::launchers {
namespace {

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

std::string text_of(int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += static_cast<char>(first + i);
  return text;
}

// The inputs are those of the RFC's first case, the hash is another.
TEST(Hkdf, IsThatOfTheStandard) {
  std::array<unsigned char, 42> key{};
  ASSERT_TRUE(hkdf_sha384(std::string(22, '\x0b'), text_of(0, 13), text_of(0xf0, 10), key));
  EXPECT_EQ(hex(key), "9b5097a86038b805309076a44b3a9f38063e25b516dcbf369f394cfab43685f748b6457763e4f0204fc5");
}

TEST(JobKey, IsOfASecretAndAJob) {
  const Secret secret = *Secret::from(std::string(64, '5'), "here"), other = Secret::fresh();
  const auto key = [](const Secret& of, const char* job) { return hex(JobKey::derive(of, job)->bytes()); };
  EXPECT_EQ(key(secret, "0123456789abcdef"),
            "c33748e04e95d66cf8807906d857f6322e518541b43092bf166d59bc80843f89fbe7ec7f874f4720640a7bf6b863ebf0");
  EXPECT_NE(key(secret, "0123456789abcdef"), key(secret, "0123456789abcdee"));
  EXPECT_NE(key(secret, "0123456789abcdef"), key(other, "0123456789abcdef"));
}

TEST(RandomHex, IsFreshEachTime) {
  const std::string one = random_hex(32);
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), one.npos);
  EXPECT_NE(one, random_hex(32));
}

}  // namespace
}  // namespace baleen::launchers
