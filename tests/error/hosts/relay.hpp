/// \file Somebody between a host and the first one, who keeps all that they say and may meddle with it.
#pragma once
#include <poll.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "hosts_run.hpp"

namespace baleen::test {

/// Passes bytes on between who connects to `port` and the port of the first host, in a thread of its own.
class Relay {
 public:
  enum class Meddling { none, change, drop, repeat, cut };

  explicit Relay(int to) : to_(to), listener_(patient_socket()) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { work(); });
  }
  ~Relay() {
    leaves_ = true;
    thread_.join();
    close(listener_);
  }
  /// What the next bytes to the first host are exposed to.
  void meddle(Meddling how) { meddling_ = how; }
  /// What the host said; and what either said.
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }
  std::string heard() {
    const std::lock_guard lock(mutex_);
    return said_ + answered_;
  }

  int port = 0;

 private:
  void work() {
    while (!leaves_) {
      if (!is_ready(listener_)) continue;
      const int outside = accept(listener_, nullptr, nullptr), inside = patient_socket();
      const sockaddr_in address = loopback(to_);
      if (connect(inside, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) talk(outside, inside);
      close(outside);
      close(inside);
    }
  }
  void talk(int outside, int inside) {
    std::array<pollfd, 2> both = {{{outside, POLLIN, 0}, {inside, POLLIN, 0}}};
    while (!leaves_) {
      if (poll(both.data(), both.size(), 20) <= 0) continue;
      if (both[0].revents && !pass(outside, inside, said_, meddling_.exchange(Meddling::none))) return;
      if (both[1].revents && !pass(inside, outside, answered_, Meddling::none)) return;
    }
  }
  /// False at the end.
  bool pass(int from, int to, std::string& record, Meddling how) {
    std::array<char, 65536> buffer;
    const ssize_t got = recv(from, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    std::string bytes(buffer.data(), static_cast<std::size_t>(got));
    {
      const std::lock_guard lock(mutex_);
      record += bytes;
    }
    if (how == Meddling::change) bytes.back() = static_cast<char>(bytes.back() ^ 1);
    if (how == Meddling::drop) return true;
    if (how == Meddling::repeat) bytes += bytes;
    if (how == Meddling::cut) bytes.pop_back();
    send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return how != Meddling::cut;
  }
  static bool is_ready(int socket) {
    pollfd ready{socket, POLLIN, 0};
    return poll(&ready, 1, 20) > 0;
  }

  int to_, listener_;
  std::string said_, answered_;
  std::mutex mutex_;
  std::atomic<Meddling> meddling_{Meddling::none};
  std::atomic<bool> leaves_{false};
  std::thread thread_;
};

}  // namespace baleen::test
