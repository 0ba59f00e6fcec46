/// \file A connection between two ranks: a socket under TLS 1.3 with a key of the job (RFC 8446, section 2.2).
///
/// There are no certificates: who does not know the key gets no connection. A fresh Diffie-Hellman exchange keeps what
/// was recorded secret from those who learn the key later. OpenSSL makes the handshake; the records behind it are
/// written here, straight from and to the messages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // OpenSSL's SSL

namespace baleen::ucx {

/// How far a call came. kLater: the socket has to become readable or writable first. kEnded: see `why`.
enum class Step : std::uint8_t { kDone, kLater, kEnded };

/// Never blocks. [one thread]
class TlsChannel {
 public:
  /// A record's most bytes, and the most that a call of `write` takes at once.
  static constexpr std::size_t kRecord = 16384;

  ~TlsChannel();

  /// Goes on with the handshake; once it is done both ends have proven that they know the key.
  Step shake();
  /// At the end that accepted, once it is open: which rank the other end is, and which one it wants to talk to.
  struct Peers {
    std::int32_t from = -1, to = -1;
  };
  std::optional<Peers> heard() const;

  /// At the end that accepted: whether the other end has begun as who knows the key does, or who has recorded one.
  bool has_begun() const;

  Step read(void* to, std::size_t most, std::size_t& got);
  /// Encrypts, and keeps what the socket does not take yet. Nothing is taken where it is kLater.
  Step write(const void* from, std::size_t bytes, std::size_t& taken);
  /// Gives the socket what is kept.
  Step flush();
  /// Whether something is kept.
  bool has_unsent() const;
  /// Tells the other end that nothing follows.
  void end();
  /// Whether the other end's system has all that was sent.
  bool is_delivered() const;
  int socket() const;
  /// Why it ended: "Connection reset by peer".
  const std::string& why() const { return why_; }

 private:
  friend class TlsJob;
  struct State;
  explicit TlsChannel(std::unique_ptr<State> state);
  Step ended(std::string why);
  Step damaged(std::uint8_t alert, const char* what);
  Step take_record(std::uint8_t* to, std::size_t room, std::size_t& got);
  Step take_control(const std::uint8_t* content, std::size_t bytes, bool is_alert);
  Step fill();
  Step make_room();
  bool renew();

  std::unique_ptr<State> state_;
  std::string why_;
};

/// What the channels of a job have in common: the key, of which rank 0 told the others through the launcher.
class TlsJob {
 public:
  static constexpr std::size_t kKeyBytes = 32;

  /// A new random key.
  static Result<std::string> new_key();
  /// INTERNAL where this OpenSSL has no TLS 1.3 with what it needs. After `renewal` records an end changes its key:
  /// AES-GCM is safe for 2^24.5 records with one (RFC 8446, section 5.5), here 23 times as many.
  static Result<TlsJob> make(const std::string& key, std::uint64_t renewal = std::uint64_t{1} << 20);

  /// The end of a socket that is being connected, or that was accepted.
  Result<std::unique_ptr<TlsChannel>> connecting(FileHandle socket, TlsChannel::Peers peers) const;
  Result<std::unique_ptr<TlsChannel>> accepted(FileHandle socket) const;

 private:
  TlsJob(std::shared_ptr<ssl_ctx_st> context, std::string key, std::uint64_t renewal)
      : context_(std::move(context)), key_(std::move(key)), renewal_(renewal) {}
  Result<std::unique_ptr<TlsChannel>> channel(FileHandle socket, std::string identity) const;

  std::shared_ptr<ssl_ctx_st> context_;
  std::string key_;
  std::uint64_t renewal_;
};

}  // namespace baleen::ucx
