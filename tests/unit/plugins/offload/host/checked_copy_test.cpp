/// \file A block that is not what was put is found, whatever bit it has lost.
#include "checked_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <random>

namespace baleen::host_memory {
namespace {

/// Bytes at an address that is a multiple of 64, or `offset` behind one.
class Bytes {
 public:
  explicit Bytes(std::uint64_t size, std::uint64_t offset = 0)
      : all_(static_cast<std::byte*>(::operator new (size + offset, std::align_val_t{64}))),
        begin_(all_ + offset),
        size_(size) {
    std::fill_n(begin_, size_, std::byte{0});
  }
  ~Bytes() { ::operator delete (all_, std::align_val_t{64}); }
  Bytes(const Bytes&) = delete;

  std::byte* data() { return begin_; }
  std::byte& operator[](std::uint64_t at) { return begin_[at]; }
  void draw(unsigned seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < size_; ++i) begin_[i] = static_cast<std::byte>(random());
  }
  bool operator==(const Bytes& other) const { return std::equal(begin_, begin_ + size_, other.begin_); }

 private:
  std::byte *all_, *begin_;
  std::uint64_t size_;
};

constexpr std::uint64_t kBytes = 3 * kBlock + 77;

class KeptBlocks : public testing::TestWithParam<bool> {
 protected:
  KeptBlocks() { checksums_.resize(5 * kBlock); }
  std::optional<std::uint64_t> get(Bytes& to, std::uint64_t from = 0, std::uint64_t bytes = kBytes) const {
    return get_checked(checksums_, kBlock + from, kept_.data() + from, to.data(), bytes, GetParam());
  }
  void put(Bytes& given) { put_checked(checksums_, kBlock, kept_.data(), given.data(), kBytes, GetParam()); }

  BlockSums checksums_;
  mutable Bytes kept_{kBytes};
};

TEST_P(KeptBlocks, ComeBackAsTheyWerePut) {
  Bytes given(kBytes, 5), got(kBytes), odd(kBytes, 3);
  given.draw(1);
  put(given);
  EXPECT_EQ(get(got), std::nullopt);
  EXPECT_EQ(got, given);
  EXPECT_EQ(get(odd), std::nullopt);
  EXPECT_EQ(odd, given);
  Bytes end(kBlock + 77);
  EXPECT_EQ(get(end, 2 * kBlock, kBlock + 77), std::nullopt);
  EXPECT_TRUE(std::equal(end.data(), end.data() + kBlock + 77, given.data() + 2 * kBlock));
}

TEST_P(KeptBlocks, WithAnyBitTurnedAreFound) {
  Bytes given(kBytes), got(kBytes);
  given.draw(2);
  put(given);
  for (std::uint64_t at = 0; at < kBytes; at += at < 64 || at + 100 > kBytes ? 1 : 97) {
    const auto bit = static_cast<std::byte>(1u << at % 8);
    kept_[at] ^= bit;
    EXPECT_EQ(get(got), at / kBlock * kBlock) << "byte " << at;
    kept_[at] ^= bit;
  }
  EXPECT_EQ(get(got), std::nullopt);
}

TEST_P(KeptBlocks, ThatWereNeverPutAreZeros) {
  Bytes got(kBytes);
  EXPECT_EQ(get(got), std::nullopt);
  for (const std::uint64_t at : {std::uint64_t{0}, kBlock + 1, kBytes - 1}) {
    kept_[at] = std::byte{4};
    EXPECT_EQ(get(got), at / kBlock * kBlock);
    kept_[at] = std::byte{0};
  }
}

TEST_P(KeptBlocks, OfAFailedPutMatchNothing) {
  Bytes given(kBytes), got(kBytes);
  given.draw(3);
  put(given);
  checksums_.spoil(2 * kBlock, 1);
  EXPECT_TRUE(checksums_.is_spoiled(2 * kBlock + 5));
  EXPECT_EQ(get(got), kBlock);
  put(given);
  EXPECT_EQ(get(got), std::nullopt);
  EXPECT_EQ(got, given);
}

INSTANTIATE_TEST_SUITE_P(Copies, KeptBlocks, testing::Bool(),
                         [](const auto& param) { return param.param ? "beyond_the_caches" : "plain"; });

}  // namespace
}  // namespace baleen::host_memory
