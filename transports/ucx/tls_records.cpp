/// \file Keys and records of TLS 1.3, straight from and to the memory of messages.
#include "tls_records.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

namespace baleen::ucx {
namespace {

/// HKDF-Expand-Label without a context (RFC 8446, section 7.1), for at most one block of SHA-256.
bool expand(const TlsRecords::Secret& secret, std::string_view label, std::span<std::uint8_t> to) {
  constexpr std::string_view kPrefix = "tls13 ";
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> block;
  std::vector<std::uint8_t> info = {0, static_cast<std::uint8_t>(to.size()),
                                    static_cast<std::uint8_t>(kPrefix.size() + label.size())};
  info.insert(info.end(), kPrefix.begin(), kPrefix.end());
  info.insert(info.end(), label.begin(), label.end());
  info.push_back(0);  // no context
  info.push_back(1);  // the first block of HKDF-Expand (RFC 5869)
  unsigned bytes = 0;
  const bool done = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), info.data(), info.size(),
                         block.data(), &bytes) != nullptr;
  if (done) std::copy_n(block.begin(), std::min<std::size_t>(to.size(), bytes), to.begin());
  OPENSSL_cleanse(block.data(), block.size());
  return done && to.size() <= bytes;
}

}  // namespace

std::unique_ptr<TlsRecords> TlsRecords::make(const Secret& secret) {
  std::unique_ptr<TlsRecords> made(new (std::nothrow) TlsRecords);
  if (!made) return nullptr;
  made->secret_ = secret;
  return made->set_key() ? std::move(made) : nullptr;
}

TlsRecords::~TlsRecords() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

bool TlsRecords::set_key() {
  Gcm::Key key;
  if (!expand(secret_, "key", key) || !expand(secret_, "iv", iv_)) return false;
  gcm_ = make_gcm(key);
  OPENSSL_cleanse(key.data(), key.size());
  count_ = 0;
  return gcm_ != nullptr;
}

bool TlsRecords::renew() {
  Secret next;
  const bool done = expand(secret_, "traffic upd", next);
  if (done) secret_ = next;
  OPENSSL_cleanse(next.data(), next.size());
  return done && set_key();
}

// The number of the record, in the lowest bytes of the key's own (section 5.3).
Gcm::Nonce TlsRecords::nonce() {
  Gcm::Nonce nonce = iv_;
  for (std::size_t byte = 0; byte < sizeof count_; ++byte)
    nonce[nonce.size() - 1 - byte] ^= static_cast<std::uint8_t>(count_ >> (8 * byte));
  ++count_;
  return nonce;
}

void TlsRecords::seal(RecordKind kind, Bytes content, std::uint8_t* to) {
  const std::size_t sealed = content.size() + 1 + Gcm::kTagBytes;
  const std::array<std::uint8_t, kHeaderBytes> header = {static_cast<std::uint8_t>(RecordKind::kData), 3, 3,
                                                         static_cast<std::uint8_t>(sealed >> 8),
                                                         static_cast<std::uint8_t>(sealed)};
  std::copy(header.begin(), header.end(), to);
  gcm_->seal(nonce(), header, content, static_cast<std::uint8_t>(kind), to + kHeaderBytes);
}

std::optional<std::size_t> TlsRecords::length_from(std::span<const std::uint8_t, kHeaderBytes> header) {
  const std::size_t length = kHeaderBytes + (std::size_t{header[3]} << 8 | header[4]);
  if (header[0] != static_cast<std::uint8_t>(RecordKind::kData) || length < kMore || length > kLongest)
    return std::nullopt;
  return length;
}

std::optional<TlsRecords::Opened> TlsRecords::open(Bytes record, std::uint8_t* to) {
  std::optional<std::uint8_t> kind = gcm_->open(nonce(), record.first(kHeaderBytes), record.subspan(kHeaderBytes), to);
  if (!kind) return std::nullopt;
  std::size_t bytes = room_for(record.size());
  while (*kind == 0 && bytes > 0) kind = to[--bytes];  // zeros that it was filled up with
  if (bytes > kContent) return std::nullopt;
  return Opened{static_cast<RecordKind>(*kind), bytes};
}

}  // namespace baleen::ucx
