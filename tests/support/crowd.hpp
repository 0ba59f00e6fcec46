/// \file Strangers who hold as many connections to a port of this machine as it bears, all at once.
#pragma once
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baleen/file_handle.hpp"
#include "support/free_port.hpp"

namespace baleen::test {

/// By turns they say nothing, a byte now and then, garbage, or the first half of what a peer says. Who is hung up on
/// comes again.
class Crowd {
 public:
  Crowd(int port, std::string words, std::size_t count = 64)
      : port_(port), words_(std::move(words)), members_(count), thread_([this] { run(); }) {}
  ~Crowd() { stop(); }
  Crowd(const Crowd&) = delete;

  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  /// How many have come, again or for the first time, and how many are there now.
  int came() const { return came_; }
  int here() const { return here_; }

 private:
  struct Member {
    FileHandle socket;
    std::size_t said = 0;
  };

  void run() {
    for (; !over_; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      int here = 0;
      for (std::size_t i = 0; i < members_.size(); ++i) here += keep(members_[i], i % 4);
      here_ = here;
    }
  }
  /// Whether it has a connection that nobody has closed.
  bool keep(Member& member, std::size_t kind) {
    char heard[256];
    while (member.socket) {
      const ssize_t got = recv(member.socket.get(), heard, sizeof heard, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) break;
      if (got <= 0) member.socket.close();
    }
    if (!member.socket) come(member, kind);
    if (member.socket && kind == 1 && member.said < words_.size())
      member.said += send(member.socket.get(), &words_[member.said], 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    return static_cast<bool>(member.socket);
  }
  void come(Member& member, std::size_t kind) {
    member = {connect_to_loopback(port_)};
    if (!member.socket) return;
    ++came_;
    const std::string text = kind == 2   ? std::string(300, '\xff')
                             : kind == 3 ? words_.substr(0, words_.size() / 2)
                                         : "";
    [[maybe_unused]] const ssize_t sent =
        send(member.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  const int port_;
  const std::string words_;
  std::vector<Member> members_;
  std::atomic<int> came_{0}, here_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace baleen::test
