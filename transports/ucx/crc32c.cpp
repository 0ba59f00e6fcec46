/// \file By the instruction of SSE 4.2 where there is one, else by a table. Debian has no small library for it.
#include "crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace baleen::ucx {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78u;  // reflected

constexpr std::array<std::uint32_t, 256> kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? kPolynomial : 0);
    table[i] = value;
  }
  return table;
}();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_hardware(std::uint32_t crc, const std::byte* data,
                                                                std::size_t bytes) {
  std::uint64_t state = ~crc;
  for (; bytes >= 8; bytes -= 8, data += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, sizeof word);
    state = _mm_crc32_u64(state, word);
  }
  auto rest = static_cast<std::uint32_t>(state);
  for (; bytes > 0; --bytes, ++data) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*data));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_portable(std::uint32_t crc, const std::byte* data, std::size_t bytes) {
  crc = ~crc;
  for (std::size_t i = 0; i < bytes; ++i) crc = crc >> 8 ^ kTable[(crc ^ static_cast<std::uint32_t>(data[i])) & 0xff];
  return ~crc;
}

std::uint32_t crc32c(std::uint32_t crc, const std::byte* data, std::size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_hardware(crc, data, bytes);
#endif
  return crc32c_portable(crc, data, bytes);
}

}  // namespace baleen::ucx
