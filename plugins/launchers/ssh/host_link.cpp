/// \file Sends and receives messages between launchers, and sends heartbeats.
#include "host_link.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tcp.hpp"

namespace baleen::launchers {

HostLink::HostLink(FileHandle socket, TlsSession session, const Timeouts& timeouts)
    : socket_(std::move(socket)),
      timeouts_(timeouts),
      session_(std::move(session)),
      peer_(TcpAddress::far(socket_.get()).text()),
      own_(TcpAddress::near(socket_.get()).digits()),
      last_heard_(Clock::now()),
      next_beat_(last_heard_) {
  watch_connection(socket_.get(), timeouts.unconfirmed);
}

pollfd HostLink::to_poll() const {
  return {socket_.get(), static_cast<short>(has_rest() ? POLLIN | POLLOUT : POLLIN), 0};
}

void HostLink::send(const Message& message) {
  if (!socket_ || ends_) return;
  session_.write(to_frame(message));
  put_bytes();
}

void HostLink::put_bytes() {
  rest_ += session_.take_bytes();
  send_rest();
}

void HostLink::send_rest() {
  while (socket_ && sent_ < rest_.size()) {
    const ssize_t sent = ::send(socket_.get(), rest_.data() + sent_, rest_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return;
    // What the other end said before it closed is still to be read. The system tells the reason once, and EPIPE from
    // then on.
    if (sent < 0) {
      if (send_error_ == 0) send_error_ = errno;
      break;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  rest_.clear();
  sent_ = 0;
  if (ends_ && socket_) shutdown(socket_.get(), SHUT_WR);
}

Status HostLink::receive(Clock::time_point now) {
  frames_.add(session_.take_text());  // what came with the handshake
  std::array<char, 65536> bytes;
  for (int blocks = 0; socket_ && blocks < 16; ++blocks) {
    const ssize_t got = recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      last_heard_ = now;
      BALEEN_TRY(session_.receive({bytes.data(), static_cast<std::size_t>(got)}));
      frames_.add(session_.take_text());
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    // The system tells an error once, to whoever asks first.
    const int error = got < 0 ? errno : send_error_;
    const bool has_ended = error == 0 || error == EPIPE || error == ECONNRESET;
    over_ = has_ended ? "its launcher has ended"
                      : std::string("the connection broke: ") + std::strerror(error) +
                            "; where it comes back by itself, a longer `patience` of "
                            "the launcher and of the transport waits for it";
    if (has_ended && session_.has_part()) *over_ += " in the middle of a message";
    socket_.close();
  }
  return {};
}

Result<std::vector<Message>> HostLink::serve(Clock::time_point now) {
  if (now >= next_beat_) {
    // Behind what waits anyway a beat would tell nothing new.
    if (!has_rest()) send({MessageKind::beat});
    next_beat_ = now + Timeouts::kBeat;
  }
  send_rest();
  if (Status status = receive(now); !status) {
    put_bytes();  // the reason, as far as it goes at once
    close();
    return status.error();
  }
  std::vector<Message> messages;
  for (;;) {
    auto next = frames_.next();
    if (!next) {
      close();
      return next.error();
    }
    if (!*next) return messages;
    if ((*next)->kind != MessageKind::beat || (*next)->rank >= 0) messages.push_back(*std::move(*next));
  }
}

void HostLink::end_sending() {
  if (std::exchange(ends_, true)) return;
  session_.end();
  put_bytes();
}

void HostLink::close() {
  if (!over_) over_ = "the connection was closed here";
  socket_.close();
  rest_.clear();
}

std::optional<std::string> HostLink::is_over(Clock::time_point now) const {
  if (over_) return over_;
  const Clock::duration silence = now - last_heard_;
  if (silence < timeouts_.heartbeat_timeout) return std::nullopt;
  return "silent for " + seconds_text(silence) + " though the connection stands; was its launcher stopped?";
}

}  // namespace baleen::launchers
