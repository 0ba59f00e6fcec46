/// \file A keyed permutation of 0 ... n-1 without an array: how data plugins shuffle, in constant memory.
#pragma once
#include <bit>
#include <cstdint>

namespace baleen::sdk {

/// A bijective mix of 64 bits (the finaliser of SplitMix64; Steele, Lea, Flood 2014).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// One key from several numbers: seed, epoch, purpose.
constexpr std::uint64_t mix_key(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
  return mix_bits(mix_bits(mix_bits(a) ^ b) ^ c);
}

/// A permutation of [0, size), a pure function of (size, key). A balanced Feistel network (Luby and Rackoff 1988)
/// permutes the smallest even power of two that holds `size`; a number that lands outside walks on along its cycle
/// (Black and Rogaway 2002), fewer than four steps on average.
class Permutation {
 public:
  /// `size` from 1 to 2^62.
  constexpr Permutation(std::uint64_t size, std::uint64_t key)
      : size_(size), key_(key), half_((static_cast<unsigned>(std::bit_width(size - 1)) + 1) / 2) {}

  constexpr std::uint64_t size() const { return size_; }

  /// Where `index` (below size) goes.
  constexpr std::uint64_t operator()(std::uint64_t index) const {
    if (size_ <= 1) return index;
    do index = round_trip(index);
    while (index >= size_);
    return index;
  }

 private:
  static constexpr unsigned kRounds = 6;

  constexpr std::uint64_t round_trip(std::uint64_t index) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = index >> half_, right = index & mask;
    for (unsigned round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (mix_key(key_, right, round) & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }

  std::uint64_t size_;
  std::uint64_t key_;
  unsigned half_;
};

}  // namespace baleen::sdk
