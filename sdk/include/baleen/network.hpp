/// \file Network interfaces of this host.
#pragma once
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>
#include <string>

namespace baleen {

/// The name of the interface that is up and has this address ("10.0.0.2", "fd00::2", "fe80::2%eth0"); "127.0.0.2" is
/// the loopback's as well. Empty: there is none.
inline std::string interface_of(const std::string& address) {
  const std::string digits = address.substr(0, address.find('%'));
  const std::string scope = digits.size() < address.size() ? address.substr(digits.size() + 1) : std::string();
  in_addr four{};
  in6_addr six{};
  const bool is_four = inet_pton(AF_INET, digits.c_str(), &four) == 1;
  if (!is_four && inet_pton(AF_INET6, digits.c_str(), &six) != 1) return {};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* one = all; one && found.empty(); one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP) || one->ifa_addr->sa_family != (is_four ? AF_INET : AF_INET6))
      continue;
    if (!scope.empty() && scope != one->ifa_name) continue;
    if (is_four) {
      const in_addr_t own = reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr;
      const bool both_loop = (one->ifa_flags & IFF_LOOPBACK) != 0 && ntohl(four.s_addr) >> 24 == IN_LOOPBACKNET;
      if (own == four.s_addr || both_loop) found = one->ifa_name;
    } else if (std::memcmp(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, &six, sizeof six) == 0) {
      found = one->ifa_name;
    }
  }
  freeifaddrs(all);
  return found;
}

}  // namespace baleen
