/// \file Accepts connections and runs their handshakes; drops the oldest that has proven nothing if there are too many.
#include "listener.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "hello.hpp"

namespace baleen::launchers {
namespace {

/// Writes little enough to fit a new connection's empty buffer.
bool say(int socket, const std::string& text) {
  return text.empty() ||
         send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

/// Waits until the socket is ready for `what`; false if it is not in time.
bool is_ready(int socket, short what, std::chrono::milliseconds time) {
  pollfd ready{socket, what, 0};
  return poll(&ready, 1, static_cast<int>(time.count())) > 0;
}

/// Whether bytes that come after `before` others may be of a handshake of TLS: type and first half of the version.
bool may_be_tls(std::size_t before, std::string_view bytes) {
  constexpr std::string_view kBegin = "\x16\x03";
  if (before >= kBegin.size()) return true;
  const std::string_view wanted = kBegin.substr(before, bytes.size());
  return bytes.starts_with(wanted);
}

/// What holds a port, from what it says to who comes; empty where it says nothing that is known.
std::string holder_of(const TcpAddress& at) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  const auto socket = begin_connect(at, nullptr);
  std::array<char, kHelloBytes> hello{};
  if (!socket || !is_ready(socket->get(), POLLOUT, kPatience) || !is_ready(socket->get(), POLLIN, kPatience)) return {};
  const ssize_t got = recv(socket->get(), hello.data(), hello.size(), 0);
  if (got <= 0) return {};
  const auto job = job_of({hello.data(), static_cast<std::size_t>(got)});
  return job ? "job " + *job + " of Baleen" : std::string();
}

}  // namespace

Listener::Listener(FileHandle listener, std::string job, TlsContext context, const Log& log, const Timeouts& timeouts)
    : log_(&log),
      timeouts_(&timeouts),
      listener_(std::move(listener)),
      address_(TcpAddress::near(listener_.get())),
      job_(std::move(job)),
      context_(std::move(context)) {}

Result<Listener> Listener::open(const TcpAddress& at, const Secret& secret, const Log& log, const Timeouts& timeouts) {
  int error = 0;
  if (FileHandle listener = listen_at(at, error)) {
    std::string job = fresh_job();
    BALEEN_TRY_ASSIGN(const JobKey key, JobKey::derive(secret, job));
    BALEEN_TRY_ASSIGN(TlsContext context, TlsContext::make(key));
    Listener made(std::move(listener), std::move(job), std::move(context), log, timeouts);
    log.debug("job " + made.job_ + " meets at " + made.address_.text());
    return made;
  }
  std::string text = "cannot listen at " + at.text() + ": " + std::strerror(error);
  if (error == EADDRINUSE) {
    const std::string holder = holder_of(at);
    text += holder.empty() ? "; another program is there, which does not say what it is" : "; " + holder + " is there";
    text += ". End it, or give this cluster another `port`";
  } else if (error == EADDRNOTAVAIL) {
    text += "; it is no address of this machine, which should be the first of the manifest's hosts";
  }
  return Error{BALEEN_IO, text, {}};
}

void Listener::add_polls(std::vector<pollfd>& all) const {
  all.push_back({listener_.get(), POLLIN, 0});
  for (const PendingConnection& each : pending_) all.push_back({each.socket.get(), POLLIN, 0});
}

std::vector<Listener::AuthenticatedPeer> Listener::turn(Clock::time_point now) {
  greet(now);
  std::vector<AuthenticatedPeer> peers;
  std::erase_if(pending_, [&](PendingConnection& each) { return !hear(each, now, peers); });
  return peers;
}

void Listener::greet(Clock::time_point now) {
  // A scan that connects faster than this is served at the next turn; ranks are not kept waiting for it.
  for (std::size_t count = 0; count < kMostPending; ++count) {
    FileHandle socket = accept_from(listener_.get());
    if (!socket) return;
    // Who came first and has still not said who it is makes room, but for who may be a host: a host says so at once.
    if (pending_.size() == kMostPending) {
      const auto stranger = std::ranges::find(pending_, false, &PendingConnection::has_begun);
      pending_.erase(stranger == pending_.end() ? pending_.begin() : stranger);
    }
    auto session = context_.server();
    if (!session || !say(socket.get(), hello_of(job_))) continue;
    pending_.push_back({std::move(socket), *std::move(session), 0, now});
  }
}

bool Listener::hear(PendingConnection& pending, Clock::time_point now, std::vector<AuthenticatedPeer>& peers) {
  std::array<char, kMostHeard> bytes;
  const int socket = pending.socket.get();
  const bool is_in_time = now - pending.since < timeouts_->handshake_timeout;
  const ssize_t got = recv(socket, bytes.data(), kMostHeard - pending.heard, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return is_in_time;
  if (got <= 0) return false;
  const std::string_view said(bytes.data(), static_cast<std::size_t>(got));
  if (!may_be_tls(pending.heard, said)) {
    log_->debug("garbage from " + TcpAddress::far(socket).text() + " at the rendezvous");
    return false;
  }
  pending.heard += said.size();

  const Status status = pending.session.receive(said);
  const std::string answer = pending.session.take_bytes();
  pending.has_begun |= status && !answer.empty();
  const bool is_told = say(socket, answer);
  if (!status) tell(pending);
  if (!status || !is_told) return false;
  if (!pending.session.is_open()) return is_in_time && pending.heard < kMostHeard;
  const int host = *pending.session.host();
  peers.push_back({std::move(pending.socket), std::move(pending.session), host});
  return false;
}

void Listener::tell(const PendingConnection& pending) {
  const std::string at = TcpAddress::far(pending.socket.get()).text();
  if (pending.session.host())
    warn("a host at " + at + " wants to join but does not know the job's secret");
  else
    log_->debug("somebody at " + at + " speaks TLS at the rendezvous, but is no host");
}

void Listener::warn(const std::string& text) {
  if (++warnings_ > kMostWarnings) return log_->debug(text);
  log_->warning(text + (warnings_ == kMostWarnings ? " (further ones are not told)" : ""));
}

}  // namespace baleen::launchers
