/// \file Both libraries seal the same, and open nothing that was changed.
#include "gcm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace baleen::ucx {
namespace {

using Sealed = std::vector<std::uint8_t>;

constexpr Gcm::Key kKey = {1, 2, 3, 250};
constexpr Gcm::Nonce kNonce = {9, 8, 7};
constexpr std::array<std::uint8_t, 5> kHeader = {23, 3, 3, 1, 2};

std::vector<std::uint8_t> counted(std::size_t bytes) {
  std::vector<std::uint8_t> made(bytes);
  std::iota(made.begin(), made.end(), std::uint8_t{5});
  return made;
}

Sealed sealed_by(Gcm& gcm, const std::vector<std::uint8_t>& content, std::uint8_t kind) {
  Sealed sealed(content.size() + 1 + Gcm::kTagBytes);
  gcm.seal(kNonce, kHeader, content, kind, sealed.data());
  return sealed;
}

TEST(Gcm, SealsAsTheStandardSays) {
  // Test case 2 of McGrew and Viega, "The Galois/Counter Mode of Operation": a block of zeros under a key of zeros.
  const Sealed expected = {0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2,
                           0xb9, 0x71, 0xb2, 0xfe, 0x78, 0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec,
                           0x13, 0xbd, 0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf};
  for (const auto& gcm : all_gcms({})) {
    Sealed sealed(expected.size());
    gcm->seal({}, {}, std::vector<std::uint8_t>(15), 0, sealed.data());
    EXPECT_EQ(sealed, expected) << gcm->library();
  }
}

TEST(Gcm, OfEachLibraryOpensWhatEachSealed) {
  const auto all = all_gcms(kKey);
  ASSERT_FALSE(all.empty());
  EXPECT_STREQ(all.back()->library(), "OpenSSL");
  EXPECT_STREQ(make_gcm(kKey)->library(), all.front()->library());
  std::vector<std::size_t> sizes(300);
  std::iota(sizes.begin(), sizes.end(), 0u);
  sizes.insert(sizes.end(), {1023, 1024, 4097, 16368, 16383, 16384});
  for (const std::size_t size : sizes) {
    const auto content = counted(size);
    const Sealed sealed = sealed_by(*all.front(), content, 22);
    for (const auto& gcm : all) {
      EXPECT_EQ(sealed_by(*gcm, content, 22), sealed) << gcm->library() << ", " << size;
      std::vector<std::uint8_t> opened(size);
      EXPECT_EQ(gcm->open(kNonce, kHeader, sealed, opened.data()), 22) << gcm->library() << ", " << size;
      EXPECT_EQ(opened, content) << gcm->library() << ", " << size;
    }
  }
}

TEST(Gcm, OpensNothingThatWasChanged) {
  const auto content = counted(100);
  for (const auto& gcm : all_gcms(kKey)) {
    std::vector<std::uint8_t> opened(content.size());
    const Sealed sealed = sealed_by(*gcm, content, 23);
    for (std::size_t bit = 0; bit < 8 * sealed.size(); ++bit) {
      Sealed changed = sealed;
      changed[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
      EXPECT_FALSE(gcm->open(kNonce, kHeader, changed, opened.data())) << gcm->library() << ", bit " << bit;
    }
    auto header = kHeader;
    header[4] ^= 1;
    EXPECT_FALSE(gcm->open(kNonce, header, sealed, opened.data())) << gcm->library();
    auto nonce = kNonce;
    nonce[11] ^= 1;
    EXPECT_FALSE(gcm->open(nonce, kHeader, sealed, opened.data())) << gcm->library();
    EXPECT_TRUE(gcm->open(kNonce, kHeader, sealed, opened.data())) << gcm->library();
  }
}

}  // namespace
}  // namespace baleen::ucx
