/// \file A checksum (XXH3, 64 bits) of each block, kept in memory: what the disk gives back is what it was given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace baleen::nvme {

/// Bytes of a block: the unit of checksums, of offsets, and of O_DIRECT on every disk of today.
inline constexpr std::uint64_t kBlock = 4096;

/// Of the store's bytes; ranges are whole blocks. [one thread at a time]
class Checksums {
 public:
  /// For blocks up to byte `end`; the new ones are zeros.
  void resize(std::uint64_t end);
  /// Keeps those of what is about to be written.
  void set(std::uint64_t begin, const std::byte* data, std::uint64_t bytes);
  /// Nothing matches these until they are set again: a put of them failed.
  void spoil(std::uint64_t begin, std::uint64_t bytes);
  bool is_spoiled(std::uint64_t at) const { return sums_[at / kBlock] == kSpoiled; }
  /// The first block that is not what was set, counted in the range.
  std::optional<std::uint64_t> mismatch(std::uint64_t begin, const std::byte* data, std::uint64_t bytes) const;
  std::uint64_t bytes() const { return sums_.capacity() * sizeof(std::uint64_t); }

 private:
  static constexpr std::uint64_t kSpoiled = 0;  // no block's checksum
  static std::uint64_t sum_of(const std::byte* block);

  std::vector<std::uint64_t> sums_;
};

}  // namespace baleen::nvme
