/// \file OpenSSL's HMAC, the kernel's random bytes.
#include "digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace baleen::launchers {

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  // Where there is no SHA-256 nothing may match, so nobody is let in.
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), digest.data(), nullptr))
    return random_digest();
  return digest;
}

Digest random_digest() {
  Digest digest{};
  ssize_t got = 0;
  do got = getrandom(digest.data(), digest.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(digest.size())) throw std::system_error(errno, std::generic_category(), "getrandom");
  return digest;
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace baleen::launchers
