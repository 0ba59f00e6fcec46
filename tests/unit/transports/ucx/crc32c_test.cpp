/// \file The checksum against published values, and its two implementations against each other.
#include "crc32c.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace baleen::ucx {
namespace {

std::uint32_t of(const std::string& text) {
  return crc32c(0, reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// RFC 3720, B.4.
TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(of(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  EXPECT_EQ(of(ascending), 0x46dd794eu);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(""), 0u);
}

TEST(Crc32c, IsTheSameWithAndWithoutTheInstruction) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  std::vector<std::byte> data(5000);
  for (std::byte& byte : data) byte = static_cast<std::byte>(random());
  for (int i = 0; i < 200; ++i) {
    const std::size_t begin = random() % 4000, size = random() % 1000;
    EXPECT_EQ(crc32c(7, data.data() + begin, size), crc32c_portable(7, data.data() + begin, size)) << "seed " << seed;
  }
}

TEST(Crc32c, ContinuesWhereItStopped) {
  const std::string text = "what travels";
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  EXPECT_EQ(crc32c(crc32c(0, data, 5), data + 5, text.size() - 5), of(text));
}

}  // namespace
}  // namespace baleen::ucx
