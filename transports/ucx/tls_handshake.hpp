/// \file How two ranks prove to each other that they know the job's key, by OpenSSL.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tls_channel.hpp"
#include "tls_records.hpp"

namespace baleen::ucx {

/// Never blocks. [one thread]
class TlsHandshake {
 public:
  /// On a socket that stays the caller's. `identity`: what a connecting end calls itself; none at the end that accepts.
  static Result<std::unique_ptr<TlsHandshake>> make(ssl_ctx_st& context, int socket, std::string key,
                                                    std::string identity);
  /// A context for `make`; nothing where this OpenSSL has not what it needs.
  static std::shared_ptr<ssl_ctx_st> new_context();
  static std::string identity_of(const TlsChannel::Peers& peers);
  /// Nothing where it is no identity of a rank.
  static std::optional<TlsChannel::Peers> peers_from(std::string_view identity);
  ~TlsHandshake();

  /// Goes on, and appends what is to be sent to `to_send`. Reads nothing from the socket that comes behind it.
  Step go(std::string& to_send);
  const std::string& why() const { return why_; }
  /// Once it is done: who the connecting end is, as the accepting end heard it; what the two directions' keys are of.
  const std::optional<TlsChannel::Peers>& heard() const { return heard_; }
  std::unique_ptr<TlsRecords> outgoing() const { return TlsRecords::make(secrets_[is_connecting() ? 0 : 1]); }
  std::unique_ptr<TlsRecords> incoming() const { return TlsRecords::make(secrets_[is_connecting() ? 1 : 0]); }

 private:
  friend struct TlsCalls;
  TlsHandshake() = default;
  bool is_connecting() const { return !identity_.empty(); }
  Step after(int result);

  ssl_st* ssl_ = nullptr;
  std::string key_, identity_, why_;
  std::optional<TlsChannel::Peers> heard_;
  std::array<TlsRecords::Secret, 2> secrets_{};  // of what the connecting end sends, and the accepting one
  std::array<bool, 2> has_secret_{};
};

}  // namespace baleen::ucx
