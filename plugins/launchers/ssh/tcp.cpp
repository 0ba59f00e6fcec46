/// \file getaddrinfo, and the options that matter.
#include "tcp.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace baleen::launchers {
namespace {

constexpr int kBacklog = 128;

void set(int socket, int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); }

Error io_error(const std::string& what) { return {BALEEN_IO, what + ": " + std::strerror(errno), {}}; }

FileHandle open_socket(int family) { return FileHandle(socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

}  // namespace

Result<TcpAddress> TcpAddress::find(const std::string& host, int port) {
  addrinfo wanted = {};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &raw);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, &freeaddrinfo);
  if (code != 0) return Error{BALEEN_NOT_FOUND, "cannot find the address of `" + host + "`: " + gai_strerror(code), {}};
  const addrinfo* best = found.get();
  for (const addrinfo* each = best; each; each = each->ai_next)
    if (each->ai_family == AF_INET && best->ai_family != AF_INET) best = each;
  TcpAddress address;
  std::memcpy(&address.storage_, best->ai_addr, best->ai_addrlen);
  address.size_ = best->ai_addrlen;
  return address;
}

TcpAddress TcpAddress::near(int socket) {
  TcpAddress address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

TcpAddress TcpAddress::far(int socket) {
  TcpAddress address;
  getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_), &address.size_);
  return address;
}

std::string TcpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&storage_);
    inet_ntop(AF_INET6, &six->sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(port());
  }
  const auto* four = reinterpret_cast<const sockaddr_in*>(&storage_);
  inet_ntop(AF_INET, &four->sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(port());
}

std::string TcpAddress::digits() const {
  std::array<char, NI_MAXHOST> text{};  // with the interface, which a link-local address needs
  getnameinfo(get(), size_, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

int TcpAddress::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
}

bool TcpAddress::is_loopback() const {
  if (family() == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr);
  return (ntohl(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
}

FileHandle listen_at(const TcpAddress& address, int& error) {
  FileHandle made = open_socket(address.family());
  if (made) set(made.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (made && bind(made.get(), address.get(), address.size()) == 0 && listen(made.get(), kBacklog) == 0) return made;
  error = errno;
  return {};
}

FileHandle accept_from(int listener) {
  return FileHandle(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

Result<FileHandle> begin_connect(const TcpAddress& to, const TcpAddress* from) {
  FileHandle made = open_socket(to.family());
  if (!made) return io_error("no socket");
  if (from && bind(made.get(), from->get(), from->size()) != 0)
    return io_error("cannot use the address " + from->text());
  if (connect(made.get(), to.get(), to.size()) == 0 || errno == EINPROGRESS) return made;
  return io_error("cannot connect to " + to.text());
}

int connect_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void watch_connection(int socket, std::chrono::milliseconds unconfirmed) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unconfirmed.count()));
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace baleen::launchers
