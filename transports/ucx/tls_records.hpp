/// \file One direction of a TLS 1.3 connection once its handshake is over: records (RFC 8446, section 5) with
/// TLS_AES_128_GCM_SHA256.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "gcm.hpp"

namespace baleen::ucx {

/// RFC 8446, section 5.1.
enum class RecordKind : std::uint8_t { kAlert = 21, kHandshake = 22, kData = 23 };

class TlsRecords {
 public:
  using Secret = std::array<std::uint8_t, 32>;
  using Bytes = std::span<const std::uint8_t>;

  static constexpr std::size_t kHeaderBytes = 5;
  /// A record's most content, and how much longer than its content a record is that we write.
  static constexpr std::size_t kContent = 16384, kMore = kHeaderBytes + 1 + Gcm::kTagBytes;
  /// Longest that another end may write, which may fill up with zeros.
  static constexpr std::size_t kLongest = kHeaderBytes + kContent + 256;

  /// With the application traffic secret of the handshake. Null where there is no memory.
  static std::unique_ptr<TlsRecords> make(const Secret& secret);
  ~TlsRecords();

  /// Writes one record of at most kContent bytes of content. `to` has room for kMore bytes more.
  void seal(RecordKind kind, Bytes content, std::uint8_t* to);
  /// How long the record is that begins so; nothing where no such record may follow the handshake.
  static std::optional<std::size_t> length_from(std::span<const std::uint8_t, kHeaderBytes> header);
  /// Bytes of content at most, in a record of this length.
  static std::size_t room_for(std::size_t length) { return length - kMore; }
  struct Opened {
    RecordKind kind;
    std::size_t bytes;
  };
  /// Opens the next record into `to`, which has `room_for` its length; nothing where it is not the next one that the
  /// other end sealed.
  std::optional<Opened> open(Bytes record, std::uint8_t* to);
  /// Goes on with the next key (section 7.2): after a KeyUpdate. False where there is no memory.
  bool renew();
  /// Records sealed or opened with the key of now.
  std::uint64_t count() const { return count_; }

 private:
  TlsRecords() = default;
  bool set_key();
  Gcm::Nonce nonce();

  Secret secret_{};
  Gcm::Nonce iv_{};
  std::unique_ptr<Gcm> gcm_;
  std::uint64_t count_ = 0;
};

}  // namespace baleen::ucx
