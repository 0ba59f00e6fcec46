/// \file Connections between launchers: TLS 1.3 with a key that both ends have (RFC 8446, section 2.2), as bytes. No
/// socket, no clock.
///
///   first host                     another host
///   hello of the job, in clear ->                   (hello.hpp)
///                              <-  ClientHello: "baleen host 3", proof of the key
///   ServerHello, Finished      ->                   proof of the key
///                              <-  Finished
///
/// There are no certificates, so nobody without the key gets a connection. A fresh Diffie-Hellman exchange keeps what
/// was recorded secret from those who learn the key later.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "baleen/result.hpp"
#include "crypto.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace baleen::launchers {

struct TlsState;

/// One end of a connection. The handshake goes on by itself with what is received. [one thread]
class TlsSession {
 public:
  /// Takes what came from the other end. Fails, from then on, where the other end does not know the key or refuses
  /// ours (INVALID), or where the bytes are not what it sent next (INTERNAL); `take_bytes` then has a last word for it.
  Status receive(std::string_view bytes);
  /// Bytes for the other end: of the handshake, of what was written, and the reason of a failure.
  std::string take_bytes();

  /// Whether the handshake is complete: the other end has proven that it knows the key.
  bool is_open() const;
  /// At the first host: the index that the other end says it has. Proven once this is open.
  std::optional<int> host() const;

  /// Once it is open. The text is encrypted at once; nothing is written after a failure or `end`.
  void write(std::string_view text);
  /// What the other end wrote, as far as it is here.
  std::string take_text();
  /// Tells the other end that this is all; it may go on writing.
  void end();
  /// Whether the last bytes that came are the beginning of more.
  bool has_part() const;

 private:
  friend class TlsContext;
  explicit TlsSession(std::unique_ptr<TlsState> state);
  Status shake();
  Status read();

  struct Free {
    void operator()(TlsState* state) const;
  };
  std::unique_ptr<TlsState, Free> state_;
};

/// What the sessions of one job have in common.
class TlsContext {
 public:
  /// INTERNAL where this OpenSSL has no TLS 1.3 with what it needs.
  static Result<TlsContext> make(const JobKey& key);

  /// The first host's end of a connection.
  Result<TlsSession> server() const;
  /// The end of the host with that index.
  Result<TlsSession> client(int host) const;

 private:
  TlsContext(std::shared_ptr<ssl_ctx_st> context, const JobKey& key) : context_(std::move(context)), key_(key) {}
  /// Empty: a server's, which has no identity.
  Result<TlsSession> session(const std::string& identity) const;

  std::shared_ptr<ssl_ctx_st> context_;
  JobKey key_;
};

}  // namespace baleen::launchers
