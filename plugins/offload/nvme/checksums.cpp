/// \file Hashes blocks.
#include "checksums.hpp"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace baleen::nvme {
namespace {

constexpr std::array<std::byte, kBlock> kZeros{};

}  // namespace

void Checksums::resize(std::uint64_t end) {
  sums_.resize((end + kBlock - 1) / kBlock, XXH3_64bits(kZeros.data(), kBlock));
}

void Checksums::set(std::uint64_t begin, const std::byte* data, std::uint64_t bytes) {
  std::uint64_t* sum = sums_.data() + begin / kBlock;
  for (std::uint64_t at = 0; at < bytes; at += kBlock) *sum++ = XXH3_64bits(data + at, kBlock);
}

std::optional<std::uint64_t> Checksums::mismatch(std::uint64_t begin, const std::byte* data,
                                                 std::uint64_t bytes) const {
  const std::uint64_t* sum = sums_.data() + begin / kBlock;
  for (std::uint64_t at = 0; at < bytes; at += kBlock)
    if (*sum++ != XXH3_64bits(data + at, kBlock)) return at / kBlock;
  return std::nullopt;
}

}  // namespace baleen::nvme
