/// \file A connection between the launchers of two hosts, after the handshake.
#pragma once
#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "baleen/file_handle.hpp"
#include "baleen/result.hpp"
#include "common/timeouts.hpp"
#include "common/wire.hpp"
#include "tls.hpp"

namespace baleen::launchers {

/// Nothing here waits. Beats while it is served. [one thread]
class HostLink {
 public:
  /// `socket` is connected and does not block; `session` is open.
  HostLink(FileHandle socket, TlsSession session, const Timeouts& timeouts);

  pollfd to_poll() const;
  /// Sends now what the network takes; `serve` tries again.
  void send(const Message& message);
  /// Sends what waits and a beat that is due; returns what arrived. Beats of the other launcher are taken note of.
  /// INTERNAL: somebody else speaks, or changes what is said.
  Result<std::vector<Message>> serve(Clock::time_point now);

  /// So much waits that ranks should too.
  bool is_full() const { return rest_.size() > kMost; }
  bool has_rest() const { return !rest_.empty(); }
  /// Says nothing more, once all is sent; still listens.
  void end_sending();
  void close();

  /// Why nothing more can come: closed, reset, unreachable, silent.
  std::optional<std::string> is_over(Clock::time_point now) const;
  /// So long this process could not listen.
  void forgive(Clock::duration pause) { last_heard_ += pause; }
  const std::string& peer() const { return peer_; }  ///< its address
  const std::string& own() const { return own_; }    ///< this end's address, in digits, without the port

 private:
  void send_rest();
  Status receive(Clock::time_point now);
  void put_bytes();

  static constexpr std::size_t kMost = std::size_t{1} << 20;
  FileHandle socket_;
  const Timeouts& timeouts_;
  TlsSession session_;
  Frames frames_;
  std::string rest_, peer_, own_;
  std::size_t sent_ = 0;  ///< of the rest
  bool ends_ = false;
  std::optional<std::string> over_;
  int send_error_ = 0;
  Clock::time_point last_heard_, next_beat_;
};

}  // namespace baleen::launchers
