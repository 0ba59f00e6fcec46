/// \file One line a tensor: its number, a space, its digest.
#include "frontend/checkpoint/digests.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <sstream>

namespace baleen {

std::string digest_text(std::uint64_t digest) {
  std::string digits(16, '0');
  for (std::size_t i = 0; i < digits.size(); ++i)
    digits[digits.size() - 1 - i] = "0123456789abcdef"[digest >> 4 * i & 15];
  return digits;
}

std::string digest_of(std::string_view text) { return digest_text(XXH3_64bits(text.data(), text.size())); }

std::string digests_text(const std::vector<std::uint64_t>& digests) {
  std::string text;
  for (std::size_t i = 0; i < digests.size(); ++i)
    if (digests[i] != 0) text += std::to_string(i) + ' ' + digest_text(digests[i]) + '\n';
  return text;
}

void add_digests(const std::string& text, std::vector<std::uint64_t>& sums) {
  std::istringstream lines(text);
  std::size_t number = 0;
  std::string digits;
  while (lines >> number >> digits) {
    std::uint64_t digest = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), digest, 16);
    if (number < sums.size()) sums[number] += digest;
  }
}

}  // namespace baleen
