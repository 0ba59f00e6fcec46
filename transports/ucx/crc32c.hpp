/// \file CRC-32C (Castagnoli), the checksum of iSCSI (RFC 3720): what `integrity` guards messages with.
#pragma once
#include <cstddef>
#include <cstdint>

namespace baleen::ucx {

/// Continues `crc` (0 to begin with) over `bytes`: crc32c(crc32c(0, a), b) is that of a followed by b.
std::uint32_t crc32c(std::uint32_t crc, const std::byte* data, std::size_t bytes);

/// The same without the processor's instruction.
std::uint32_t crc32c_portable(std::uint32_t crc, const std::byte* data, std::size_t bytes);

}  // namespace baleen::ucx
