/// \file AES-128-GCM under one key (NIST SP 800-38D), by the fastest library that is there.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace baleen::ucx {

/// Seals and opens records: a content, and one byte of its kind behind it. [one thread]
class Gcm {
 public:
  static constexpr std::size_t kKeyBytes = 16, kNonceBytes = 12, kTagBytes = 16;
  using Key = std::array<std::uint8_t, kKeyBytes>;
  using Nonce = std::array<std::uint8_t, kNonceBytes>;
  using Bytes = std::span<const std::uint8_t>;

  virtual ~Gcm() = default;
  /// "ipsec-mb", "OpenSSL".
  virtual const char* library() const = 0;
  /// Writes content and kind encrypted to `to`, and the tag behind them: content.size() + 1 + kTagBytes bytes. The
  /// `header` is not written, only kept from change. No nonce may come again under a key.
  virtual void seal(const Nonce& nonce, Bytes header, Bytes content, std::uint8_t kind, std::uint8_t* to) = 0;
  /// The kind behind the content of sealed.size() - 1 - kTagBytes bytes, at least 0, which is written to `to`; nothing
  /// where it is not what was sealed, and then what is written means nothing.
  virtual std::optional<std::uint8_t> open(const Nonce& nonce, Bytes header, Bytes sealed, std::uint8_t* to) = 0;
};

/// Null where there is no memory.
std::unique_ptr<Gcm> make_gcm(const Gcm::Key& key);
/// One of each library that is there, the one of `make_gcm` first.
std::vector<std::unique_ptr<Gcm>> all_gcms(const Gcm::Key& key);

}  // namespace baleen::ucx
