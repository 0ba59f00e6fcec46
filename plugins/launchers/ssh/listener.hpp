/// \file Where the other hosts of a job come in: listens, shakes hands, and bears strangers.
#pragma once
#include <poll.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"
#include "common/log.hpp"
#include "common/timeouts.hpp"
#include "tcp.hpp"
#include "tls.hpp"

namespace baleen::launchers {

/// Holds at most `kMostPending` connections that have proven nothing, each for `timeouts.handshake_timeout` and
/// `kMostHeard` bytes. Nothing here waits. [one thread]
class Listener {
 public:
  /// Listens. Borrows log and timeouts. Where something else has the port: says what it is, if it says so.
  static Result<Listener> open(const TcpAddress& at, const Secret& secret, const Log& log, const Timeouts& timeouts);

  const TcpAddress& address() const { return address_; }

  /// A host that knows the secret.
  struct AuthenticatedPeer {
    FileHandle socket;
    TlsSession session;  ///< that is open
    int host = 0;        ///< that it says it is
  };
  void add_polls(std::vector<pollfd>& all) const;
  /// Lets in who comes.
  std::vector<AuthenticatedPeer> turn(Clock::time_point now);

 private:
  static constexpr std::size_t kMostPending = 64;
  static constexpr std::size_t kMostHeard = 4096;  ///< a host's part of the handshake takes about 300 bytes
  static constexpr int kMostWarnings = 3;

  struct PendingConnection {
    FileHandle socket;
    TlsSession session;
    std::size_t heard;
    Clock::time_point since;
    bool has_begun = false;  ///< as who knows the secret does, or who has recorded one
  };
  Listener(FileHandle listener, std::string job, TlsContext context, const Log& log, const Timeouts& timeouts);
  void greet(Clock::time_point now);
  /// Whether it may stay; a peer is moved to `peers`.
  bool hear(PendingConnection& pending, Clock::time_point now, std::vector<AuthenticatedPeer>& peers);
  /// Says why a handshake failed.
  void tell(const PendingConnection& pending);
  void warn(const std::string& text);

  const Log* log_;
  const Timeouts* timeouts_;
  FileHandle listener_;
  TcpAddress address_;
  std::string job_;
  TlsContext context_;
  std::list<PendingConnection> pending_;
  int warnings_ = 0;
};

}  // namespace baleen::launchers
