/// \file The other end of a RankChannel, played by the test.
#pragma once
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "common/rank_channel.hpp"
#include "common/wire.hpp"

namespace baleen::launchers {

class FakeLauncher {
 public:
  explicit FakeLauncher(const Place& place = {1, 4, 1, 4, "localhost", 2}) {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()) != 0) throw std::runtime_error("no socket");
    say({MessageKind::welcome, 0, BALEEN_OK, RankChannel::kGreeting, to_bytes(place)});
  }
  ~FakeLauncher() { leave(); }
  FakeLauncher(const FakeLauncher&) = delete;

  std::unique_ptr<RankChannel> link() { return *RankChannel::over(ends_[1]); }
  void say(const Message& message) {
    const std::string frame = to_frame(message);
    if (send(ends_[0], frame.data(), frame.size(), MSG_NOSIGNAL) < 0) throw std::runtime_error("cannot send");
  }
  /// The next message of this kind, all others dropped; waits long.
  Message hear(MessageKind kind) {
    for (;;) {
      const auto next = frames_.next();
      if (!next) throw std::runtime_error(next.error().text());
      if (*next && (*next)->kind == kind) return **next;
      if (!*next) receive();
    }
  }
  void leave() {
    if (ends_[0] >= 0) close(std::exchange(ends_[0], -1));
  }

 private:
  void receive() {
    pollfd ready{ends_[0], POLLIN, 0};
    std::array<char, 4096> bytes;
    if (poll(&ready, 1, 60'000) != 1) throw std::runtime_error("the rank says nothing");
    const ssize_t got = recv(ends_[0], bytes.data(), bytes.size(), 0);
    if (got <= 0) throw std::runtime_error("the rank has left");
    frames_.add(std::string_view(bytes.data(), static_cast<std::size_t>(got)));
  }

  std::array<int, 2> ends_{};
  Frames frames_;
};

}  // namespace baleen::launchers
