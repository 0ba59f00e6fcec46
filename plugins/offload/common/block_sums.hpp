/// \file A checksum (XXH3, 64 bits) of each block of a store's bytes, kept in memory: a place gives back what it was
/// given.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

namespace baleen::offload_common {

/// Bytes of a block: the unit of checksums, of offsets, and of O_DIRECT on every disk of today.
inline constexpr std::uint64_t kBlock = 4096;

/// Blocks are named by the store's byte that they begin at. [`set` and `matches`: any threads, of different blocks]
class BlockSums {
 public:
  /// For blocks up to byte `end`; the new ones are zeros.
  void resize(std::uint64_t end) { sums_.resize(count(end), kZeros); }
  /// Keeps that of what is put there: `bytes` of a block, all but where its slot ends.
  void set(std::uint64_t begin, const std::byte* block, std::uint64_t bytes = kBlock) {
    sums_[begin / kBlock] = sum_of(block, bytes);
  }
  /// Whether it is what was put there, or zeros where nothing was.
  bool matches(std::uint64_t begin, const std::byte* block, std::uint64_t bytes = kBlock) const {
    const std::uint64_t sum = sums_[begin / kBlock];
    return sum == kZeros ? is_zero(block, bytes) : sum == sum_of(block, bytes);
  }
  /// The same of whole blocks one behind the other.
  void set_all(std::uint64_t begin, const std::byte* data, std::uint64_t bytes) {
    for (std::uint64_t at = 0; at < bytes; at += kBlock) set(begin + at, data + at);
  }
  /// The first of them that does not match, counted in the range.
  std::optional<std::uint64_t> mismatch(std::uint64_t begin, const std::byte* data, std::uint64_t bytes) const {
    for (std::uint64_t at = 0; at < bytes; at += kBlock)
      if (!matches(begin + at, data + at)) return at / kBlock;
    return std::nullopt;
  }
  /// Nothing matches these until they are set again: a put of them failed.
  void spoil(std::uint64_t begin, std::uint64_t bytes) {
    std::fill_n(sums_.begin() + static_cast<std::ptrdiff_t>(begin / kBlock), count(bytes), kSpoiled);
  }
  bool is_spoiled(std::uint64_t at) const { return sums_[at / kBlock] == kSpoiled; }
  std::uint64_t bytes() const { return sums_.capacity() * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t kZeros = 0, kSpoiled = 1, kSums = 2;  // no block's checksum is below kSums

  static std::uint64_t count(std::uint64_t bytes) { return (bytes + kBlock - 1) / kBlock; }
  static std::uint64_t sum_of(const std::byte* block, std::uint64_t bytes) {
    const std::uint64_t sum = XXH3_64bits(block, bytes);
    return sum < kSums ? sum + kSums : sum;
  }
  static bool is_zero(const std::byte* block, std::uint64_t bytes) {
    return bytes == 0 || (block[0] == std::byte{0} && std::memcmp(block, block + 1, bytes - 1) == 0);
  }

  std::vector<std::uint64_t> sums_;
};

}  // namespace baleen::offload_common
