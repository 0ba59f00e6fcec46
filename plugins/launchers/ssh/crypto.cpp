/// \file OpenSSL's random numbers and its HKDF.
#include "crypto.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <memory>
#include <stdexcept>

namespace baleen::launchers {
namespace {

/// What the key is for, so that no other use of the secret has the same one.
constexpr std::string_view kPurpose = "baleen launchers, TLS 1.3 pre-shared key, SHA-384";

OSSL_PARAM octets(const char* name, std::string_view value) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(value.data()), value.size());
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string raw(bytes, '\0');
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(raw.data()), static_cast<int>(bytes)) != 1)
    throw std::runtime_error("OpenSSL has no random numbers");
  std::string text;
  for (const char byte : raw) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  OPENSSL_cleanse(raw.data(), raw.size());
  return text;
}

Status hkdf_sha384(std::string_view secret, std::string_view salt, std::string_view context,
                   std::span<unsigned char> key) {
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> run(EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  std::string hash = "SHA384";
  const std::array parameters = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), hash.size()),
                                 octets(OSSL_KDF_PARAM_KEY, secret), octets(OSSL_KDF_PARAM_SALT, salt),
                                 octets(OSSL_KDF_PARAM_INFO, context), OSSL_PARAM_construct_end()};
  if (run && EVP_KDF_derive(run.get(), key.data(), key.size(), parameters.data()) == 1) return {};
  return internal("OpenSSL has no HKDF with SHA-384, which connections between hosts need");
}

Result<JobKey> JobKey::derive(const Secret& secret, std::string_view job) {
  JobKey key;
  BALEEN_TRY(hkdf_sha384(secret.text(), job, kPurpose, key.bytes_));
  return key;
}

JobKey::~JobKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

}  // namespace baleen::launchers
