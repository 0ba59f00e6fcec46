/// \file Accepts connections and runs their handshakes; drops the oldest that has proven nothing if there are too many.
#include "door.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace baleen::launchers {
namespace {

/// Writes little enough to fit a new connection's empty buffer.
bool say(int socket, const std::string& text) {
  return send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

/// Waits until the socket is ready for `what`; false if it is not in time.
bool is_ready(int socket, short what, std::chrono::milliseconds time) {
  pollfd ready{socket, what, 0};
  return poll(&ready, 1, static_cast<int>(time.count())) > 0;
}

/// What holds a port, from what it says to who comes; empty where it says nothing that is known.
std::string holder_of(const TcpAddress& at) {
  constexpr std::chrono::milliseconds kPatience{1'000};
  const auto socket = begin_connect(at, nullptr);
  std::array<char, kHelloBytes> hello{};
  if (!socket || !is_ready(socket->get(), POLLOUT, kPatience) || !is_ready(socket->get(), POLLIN, kPatience)) return {};
  const ssize_t got = recv(socket->get(), hello.data(), hello.size(), 0);
  const auto job = got > 0 ? job_of({hello.data(), static_cast<std::size_t>(got)}) : std::nullopt;
  return job ? "job " + *job + " of Baleen" : std::string();
}

}  // namespace

Door::Door(FileHandle listener, const Secret& secret, const Log& log, const Patience& patience)
    : secret_(&secret),
      log_(&log),
      patience_(&patience),
      listener_(std::move(listener)),
      address_(TcpAddress::near(listener_.get())),
      job_(fresh_job()) {}

Result<Door> Door::open(const TcpAddress& at, const Secret& secret, const Log& log, const Patience& patience) {
  int error = 0;
  if (FileHandle listener = listen_at(at, error)) {
    Door door(std::move(listener), secret, log, patience);
    log.debug("job " + door.job_ + " meets at " + door.address_.text());
    return door;
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

void Door::add_polls(std::vector<pollfd>& all) const {
  all.push_back({listener_.get(), POLLIN, 0});
  for (const Stranger& each : strangers_) all.push_back({each.socket.get(), POLLIN, 0});
}

std::vector<Door::Guest> Door::turn(Clock::time_point now) {
  greet(now);
  std::vector<Guest> guests;
  std::erase_if(strangers_, [&](Stranger& each) { return !hear(each, now, guests); });
  return guests;
}

void Door::greet(Clock::time_point now) {
  // A scan that connects faster than this is served at the next turn; ranks are not kept waiting for it.
  for (std::size_t count = 0; count < kMostStrangers; ++count) {
    FileHandle socket = accept_from(listener_.get());
    if (!socket) return;
    // Who came first and has still not said who it is makes room: a host says so at once.
    if (strangers_.size() == kMostStrangers) strangers_.pop_front();
    Stranger& stranger = strangers_.emplace_back(Stranger{std::move(socket), Doorkeeper(*secret_, job_), {}, now});
    if (!say(stranger.socket.get(), stranger.keeper.hello())) strangers_.pop_back();
  }
}

bool Door::hear(Stranger& stranger, Clock::time_point now, std::vector<Guest>& guests) {
  std::array<char, kJoinBytes> bytes{};
  const int socket = stranger.socket.get();
  const ssize_t got = recv(socket, bytes.data(), kJoinBytes - stranger.heard.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return now - stranger.since < patience_->shaking;
  if (got <= 0) return false;
  stranger.heard.append(bytes.data(), static_cast<std::size_t>(got));
  if (!is_join_so_far(stranger.heard)) {
    log_->debug("garbage from " + TcpAddress::far(socket).text() + " at the rendezvous");
    return false;
  }
  if (stranger.heard.size() < kJoinBytes) return true;

  const auto admission = stranger.keeper.admit(stranger.heard);
  if (!admission) {
    warn("a host at " + TcpAddress::far(socket).text() + " wants to join but does not know the job's secret");
    say(socket, Doorkeeper::refusal());
    return false;
  }
  if (say(socket, admission->answer)) guests.push_back({std::move(stranger.socket), admission->host, admission->keys});
  return false;
}

void Door::warn(const std::string& text) {
  if (++warnings_ > kMostWarnings) return log_->debug(text);
  log_->warning(text + (warnings_ == kMostWarnings ? " (further ones are not told)" : ""));
}

}  // namespace baleen::launchers
