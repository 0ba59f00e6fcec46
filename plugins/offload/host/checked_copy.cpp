/// \file Hashes and copies blocks.
#include "checked_copy.hpp"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace baleen::host_memory {
namespace {

#ifdef __SSE2__
/// Stores that do not read the lines first that they fill; `end` makes them visible to others.
class Copy {
 public:
  Copy(const std::byte* to, bool beyond) : streams_(beyond && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {}
  ~Copy() {
    if (streams_) _mm_sfence();
  }
  Copy(const Copy&) = delete;

  void block(std::byte* to, const std::byte* from, std::uint64_t bytes) const {
    if (!streams_ || bytes != kBlock) {
      std::memcpy(to, from, bytes);
      return;
    }
    for (std::uint64_t at = 0; at < kBlock; at += 64) {
      const auto* const source = reinterpret_cast<const __m128i*>(from + at);
      auto* const target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
  }

 private:
  bool streams_;
};
#else
class Copy {
 public:
  Copy(const std::byte*, bool) {}
  void block(std::byte* to, const std::byte* from, std::uint64_t bytes) const { std::memcpy(to, from, bytes); }
};
#endif

}  // namespace

void put_checked(BlockSums& sums, std::uint64_t begin, std::byte* kept, const std::byte* given, std::uint64_t bytes,
                 bool beyond) {
  const Copy copy(kept, beyond);
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t part = std::min(kBlock, bytes - at);
    sums.set(begin + at, given + at, part);
    copy.block(kept + at, given + at, part);
  }
}

std::optional<std::uint64_t> get_checked(const BlockSums& sums, std::uint64_t begin, const std::byte* kept,
                                         std::byte* to, std::uint64_t bytes, bool beyond) {
  const Copy copy(to, beyond);
  for (std::uint64_t at = 0; at < bytes; at += kBlock) {
    const std::uint64_t part = std::min(kBlock, bytes - at);
    if (!sums.matches(begin + at, kept + at, part)) return at;
    copy.block(to + at, kept + at, part);
  }
  return std::nullopt;
}

}  // namespace baleen::host_memory
