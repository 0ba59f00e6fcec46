/// \file Hashes blocks.
#include "checksums.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <xxhash.h>
#ifdef BALEEN_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#endif

namespace baleen::nvme {
namespace {

constexpr std::array<std::byte, kBlock> kZeros{};

}  // namespace

std::uint64_t Checksums::sum_of(const std::byte* block) {
  const std::uint64_t sum = XXH3_64bits(block, kBlock);
  return sum == kSpoiled ? 1 : sum;
}

void Checksums::spoil(std::uint64_t begin, std::uint64_t bytes) {
  const auto first = sums_.begin() + static_cast<std::ptrdiff_t>(begin / kBlock);
  std::fill_n(first, (bytes + kBlock - 1) / kBlock, kSpoiled);
}

void Checksums::resize(std::uint64_t end) { sums_.resize((end + kBlock - 1) / kBlock, sum_of(kZeros.data())); }

void Checksums::set(std::uint64_t begin, const std::byte* data, std::uint64_t bytes) {
  std::uint64_t* sum = sums_.data() + begin / kBlock;
  for (std::uint64_t at = 0; at < bytes; at += kBlock) *sum++ = sum_of(data + at);
}

std::optional<std::uint64_t> Checksums::mismatch(std::uint64_t begin, const std::byte* data,
                                                 std::uint64_t bytes) const {
  const std::uint64_t* sum = sums_.data() + begin / kBlock;
  for (std::uint64_t at = 0; at < bytes; at += kBlock)
    if (*sum++ != sum_of(data + at)) return at / kBlock;
  return std::nullopt;
}

}  // namespace baleen::nvme
