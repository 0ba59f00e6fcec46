/// \file Keyed digests and randomness, from OpenSSL and the kernel (only OpenSSL here).
#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace baleen::launchers {

/// 256 bits: an HMAC, a nonce, or a key.
using Digest = std::array<unsigned char, 32>;

/// HMAC-SHA-256 (RFC 2104).
Digest hmac_sha256(std::string_view key, std::string_view text);

/// Fresh bits that nobody can guess.
Digest random_digest();

/// Compares in a time that tells nothing of where they differ.
bool is_same(std::string_view a, std::string_view b);

inline std::string_view as_text(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// In hexadecimal digits.
std::string hex(std::string_view bytes);

}  // namespace baleen::launchers
