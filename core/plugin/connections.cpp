/// \file Asks each descriptor for the addresses of its two ends.
#include "core/plugin/connections.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace baleen {
namespace {

constexpr int kDescriptors = 4096, kShown = 8;

struct End {
  sockaddr_storage address{};
  using Ask = int (*)(int, sockaddr*, socklen_t*);

  /// False where it is no end of a connection by TCP.
  bool read(int descriptor, Ask ask) {
    socklen_t bytes = sizeof address;
    return ask(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
           (address.ss_family == AF_INET || address.ss_family == AF_INET6);
  }
  void add_to(SignalSafeLine& line) const {
    if (address.ss_family == AF_INET) {
      const auto& four = reinterpret_cast<const sockaddr_in&>(address);
      const std::uint32_t number = ntohl(four.sin_addr.s_addr);
      for (int shift = 24; shift >= 0; shift -= 8) line.number(number >> shift & 255) << (shift > 0 ? "." : ":");
      line.number(ntohs(four.sin_port));
      return;
    }
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
    line << "[";
    for (int group = 0; group < 8; ++group) {
      const unsigned value = six.sin6_addr.s6_addr[2 * group] * 256u + six.sin6_addr.s6_addr[2 * group + 1];
      (line << (group > 0 ? ":" : "")).digits(value, 16);
    }
    (line << "]:").number(ntohs(six.sin6_port));
  }
};

}  // namespace

void add_connections(SignalSafeLine& line, std::string_view before) {
  int shown = 0;
  for (int descriptor = 0; descriptor < kDescriptors && shown < kShown; ++descriptor) {
    End here, there;
    if (!there.read(descriptor, &getpeername) || !here.read(descriptor, &getsockname)) continue;
    line << (shown++ == 0 ? before : std::string_view(", "));
    here.add_to(line);
    line << " to ";
    there.add_to(line);
  }
}

}  // namespace baleen
