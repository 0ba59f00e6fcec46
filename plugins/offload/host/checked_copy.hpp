/// \file Copies to and from slots; checksums are made and compared while a block passes through the cache on its way.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "common/block_sums.hpp"

namespace baleen::host_memory {

using offload_common::BlockSums;
using offload_common::kBlock;

/// Copies what is put, and keeps its checksums. Ranges begin at blocks; one that ends within a block ends with the
/// slot. `beyond`: past the caches, for what is read much later. [both: any threads, of different blocks]
void put_checked(BlockSums& sums, std::uint64_t begin, std::byte* kept, const std::byte* given, std::uint64_t bytes,
                 bool beyond);
/// Copies what is kept up to the first block that is not what was put: that one's first byte, counted in the range.
std::optional<std::uint64_t> get_checked(const BlockSums& sums, std::uint64_t begin, const std::byte* kept,
                                         std::byte* to, std::uint64_t bytes, bool beyond);

}  // namespace baleen::host_memory
