/// \file Sockets.
#include "wire.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace baleen::nccl {
namespace {

std::string system_text(const std::string& doing) { return doing + " failed: " + std::strerror(errno); }

struct Resolved {
  addrinfo* first = nullptr;
  Resolved(const std::string& address, std::uint16_t port, int flags) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    if (getaddrinfo(address.empty() ? nullptr : address.c_str(), std::to_string(port).c_str(), &hints, &first) != 0)
      first = nullptr;
  }
  ~Resolved() {
    if (first) freeaddrinfo(first);
  }
  Resolved(const Resolved&) = delete;
};

}  // namespace

Wire::Wire(FileHandle file) : file_(std::move(file)) {
  fcntl(file_.get(), F_SETFL, fcntl(file_.get(), F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(file_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(file_.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

void Wire::send(const Frame& frame) {
  out_ += to_bytes(frame);
  flush();
}

bool Wire::flush() {
  while (!out_.empty()) {
    const ssize_t sent = ::send(file_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool Wire::fill() {
  char buffer[65536];
  while (true) {
    const ssize_t got = recv(file_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (got == 0) return false;
    if (!frames_.add({buffer, static_cast<std::size_t>(got)})) return false;
  }
}

bool Wire::exchange() {
  const bool flushed = flush();
  return fill() && flushed;
}

Result<std::pair<FileHandle, std::uint16_t>> listen_on(const std::string& address) {
  const Resolved found(address, 0, AI_PASSIVE);
  for (const addrinfo* one = found.first; one; one = one->ai_next) {
    FileHandle file(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (!file || bind(file.get(), one->ai_addr, one->ai_addrlen) != 0 || listen(file.get(), 4096) != 0) continue;
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (getsockname(file.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) continue;
    const std::uint16_t port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port;
    return std::pair{std::move(file), ntohs(port)};
  }
  return Error{BALEEN_IO, system_text("listening for the other ranks"), {}};
}

Result<FileHandle> connect_to(const std::string& address, std::uint16_t port, double seconds) {
  const Resolved found(address, port, 0);
  for (const addrinfo* one = found.first; one; one = one->ai_next) {
    FileHandle file(socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (!file) continue;
    int failed = connect(file.get(), one->ai_addr, one->ai_addrlen) == 0 ? 0 : errno;
    if (failed == EINPROGRESS) {
      pollfd ready{file.get(), POLLOUT, 0};
      socklen_t size = sizeof failed;
      if (poll(&ready, 1, static_cast<int>(seconds * 1000)) != 1)
        failed = ETIMEDOUT;
      else
        getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    }
    if (failed == 0) return file;
    errno = failed;
  }
  return Error{BALEEN_IO, system_text("connecting to rank 0 at " + address), {}};
}

Result<std::string> addresses_of(const std::string& interface) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return Error{BALEEN_IO, system_text("listing the network's interfaces"), {}};
  std::string list, names;
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    if (names.find(one->ifa_name) == names.npos) names += (names.empty() ? "" : ", ") + std::string(one->ifa_name);
    const bool wanted = interface.empty() ? !(one->ifa_flags & IFF_LOOPBACK) : interface == one->ifa_name;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    char text[NI_MAXHOST];
    if (wanted && getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      list += (list.empty() ? "" : ",") + std::string(text);
  }
  freeifaddrs(all);
  if (list.empty())
    return invalid(interface.empty()
                       ? "this host has no network interface that is up (it has " + names + ")"
                       : "`interface` is `" + interface + "`, and the interfaces that are up are " + names);
  return list;
}

}  // namespace baleen::nccl
