/// \file Connects to the first host, again and again until it answers.
#include "joining.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "common/reminders.hpp"
#include "hello.hpp"
#include "tcp.hpp"
#include "tls.hpp"

namespace baleen::launchers {
namespace {

constexpr std::chrono::milliseconds kSlice{100}, kPause{200};
constexpr std::size_t kMostBytes = 4096;

class Joining {
 public:
  Joining(const ClusterOptions& options, const Topology& topology, const std::function<std::optional<Error>()>& ends)
      : options_(options), topology_(topology), ends_(ends), since_(Clock::now()) {}

  Result<std::unique_ptr<HostLink>> run() {
    Reminders reminders(options_.timeouts.remind);
    for (;;) {
      auto link = attempt();
      if (link || decided_) return link;
      why_ = link.error().message;
      const Clock::duration waited = Clock::now() - since_;
      if (waited >= options_.timeouts.arrive)
        return Error{BALEEN_TIMEOUT, "gave up after " + seconds_text(waited) + ": " + missing(), {}};
      if (reminders.are_due(waited)) options_.log.warning(missing() + " (" + seconds_text(waited) + ")");
      BALEEN_TRY(wait(-1, 0, kPause));
    }
  }

 private:
  std::string missing() const {
    const LaunchHost& first = topology_.host(0);
    return "still waiting for the first host, " + first.name + ": " + why_;
  }

  /// Fails for now, or (`decided_`) for good.
  Result<std::unique_ptr<HostLink>> attempt() {
    decided_ = false;
    BALEEN_TRY_ASSIGN(const TcpAddress to, TcpAddress::find(topology_.host(0).reached_at(), options_.meeting.port));
    BALEEN_TRY_ASSIGN(FileHandle socket, connect_to(to));
    BALEEN_TRY_ASSIGN(const std::string hello, receive_hello(socket.get(), to));
    auto session = begin(hello);
    if (!session) return refused(to, session.error());
    BALEEN_TRY(shake(socket.get(), *session, to));
    BALEEN_TRY(is_let_in(socket.get(), to));
    return std::make_unique<HostLink>(std::move(socket), *std::move(session), options_.timeouts);
  }

  Result<TlsSession> begin(const std::string& hello) const {
    BALEEN_TRY_ASSIGN(const std::string job, job_of(hello));
    BALEEN_TRY_ASSIGN(const JobKey key, JobKey::derive(options_.meeting.secret, job));
    BALEEN_TRY_ASSIGN(const TlsContext context, TlsContext::make(key));
    return context.client(options_.host_index);
  }

  Result<FileHandle> connect_to(const TcpAddress& to) {
    const LaunchHost& own = topology_.host(options_.host_index);
    std::optional<TcpAddress> from;
    if (own.is_bound) {
      BALEEN_TRY_ASSIGN(from, TcpAddress::find(own.address, 0));
      if (from->family() != to.family()) from.reset();
    }
    auto socket = begin_connect(to, from ? &*from : nullptr);
    if (!socket && errno == EADDRNOTAVAIL && from) {
      decided_ = true;
      return invalid("the address of host " + std::to_string(options_.host_index) + " (" + own.name + "), " +
                     own.address + ", is none of this machine; is its --host-index right?");
    }
    if (!socket) return for_now(socket.error().message, to);
    BALEEN_TRY(wait(socket->get(), POLLOUT, options_.timeouts.handshake_timeout));
    if (const int error = connect_error(socket->get())) return for_now(std::strerror(error), to);
    return socket;
  }

  /// Neither waits beyond the handshake's time in all.
  Result<std::string> receive_hello(int socket, const TcpAddress& from) {
    shaken_by_ = Clock::now() + options_.timeouts.handshake_timeout;
    std::string hello;
    while (hello.size() < kHelloBytes) {
      BALEEN_TRY_ASSIGN(const std::string part, receive(socket, kHelloBytes - hello.size(), from));
      hello += part;
    }
    return hello;
  }
  Status shake(int socket, TlsSession& session, const TcpAddress& with) {
    for (;;) {
      const std::string words = session.take_bytes();
      if (send(socket, words.data(), words.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(words.size()))
        return for_now("it closed the connection", with);
      if (session.is_open()) return {};
      BALEEN_TRY_ASSIGN(const std::string answer, receive(socket, kMostBytes, with));
      if (const Status status = session.receive(answer); !status) {
        const std::string reason = session.take_bytes();
        send(socket, reason.data(), reason.size(), MSG_NOSIGNAL);
        return refused(with, status.error());
      }
    }
  }
  /// The first host says something as soon as it knows who this is. Where too many strangers knock, it may have closed
  /// the connection before.
  Status is_let_in(int socket, const TcpAddress& by) {
    const auto until = Clock::now() + options_.timeouts.handshake_timeout;
    while (Clock::now() < until) {
      BALEEN_TRY(wait(socket, POLLIN, kPause));
      char byte = 0;
      const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got > 0) return {};
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) return for_now("it closed the connection", by);
    }
    return for_now("it does not go on", by);
  }
  /// What comes next, at most `most` bytes.
  Result<std::string> receive(int socket, std::size_t most, const TcpAddress& from) {
    std::string bytes(most, '\0');
    while (Clock::now() < shaken_by_) {
      BALEEN_TRY(wait(socket, POLLIN, kPause));
      const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
      if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (got <= 0) return for_now("it closed the connection", from);
      bytes.resize(static_cast<std::size_t>(got));
      return bytes;
    }
    return for_now("what answers there says nothing that a Baleen would", from);
  }

  /// Until the socket is ready (-1: none), at most that long; fails where this host is to end.
  Status wait(int socket, short what, std::chrono::milliseconds time) {
    const auto until = Clock::now() + time;
    do {
      if (auto error = ends_()) {
        decided_ = true;
        return *std::move(error);
      }
      pollfd ready{socket, what, 0};
      if (poll(&ready, 1, static_cast<int>(kSlice.count())) > 0) return {};
    } while (Clock::now() < until);
    return {};
  }

  static Error for_now(const std::string& why, const TcpAddress& at) {
    return {BALEEN_PEER_LOST, at.text() + ": " + why, {}};
  }
  Error refused(const TcpAddress& at, const Error& why) {
    decided_ = true;
    return {why.code, "the first host, " + topology_.host(0).name + " (" + at.text() + "): " + why.message, {}};
  }

  const ClusterOptions& options_;
  const Topology& topology_;
  const std::function<std::optional<Error>()>& ends_;
  Clock::time_point since_, shaken_by_;
  bool decided_ = false;
  std::string why_;
};

}  // namespace

Result<std::unique_ptr<HostLink>> join_first_host(const ClusterOptions& options, const Topology& topology,
                                                  const std::function<std::optional<Error>()>& ends) {
  return Joining(options, topology, ends).run();
}

}  // namespace baleen::launchers
