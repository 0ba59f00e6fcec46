/// \file A port of TCP for a test to listen at, and connections to one.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "baleen/file_handle.hpp"

namespace baleen::test {

/// An address of the loopback with a port.
inline sockaddr_in loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A connection to that port of this machine; none where nobody listens.
inline FileHandle connect_to_loopback(int port) {
  FileHandle socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) socket.close();
  return socket;
}

/// A port that nobody uses, below those that the system gives to anybody. Tests that run beside each other begin their
/// search at other ports, so that none finds what another is about to use.
inline int free_port() {
  constexpr int kFirst = 12'000, kPorts = 20'000, kStride = 7'919;  // a prime that does not divide the ports
  static int tries = 0;
  for (;;) {
    const int port = kFirst + static_cast<int>((getpid() + std::int64_t{kStride} * tries++) % kPorts);
    const sockaddr_in address = loopback(port);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_free = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    close(socket);
    if (is_free) return port;
  }
}

}  // namespace baleen::test
