/// \file By the prefixes of the ranges that nobody routes.
#include "frontend/cli/addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace baleen::app {
namespace {

bool is_public(const in_addr& four) {
  struct Range {
    std::uint32_t begin;
    int bits;
  };
  static constexpr std::array<Range, 7> kNotRouted = {{{0x0a000000, 8},
                                                       {0xac100000, 12},
                                                       {0xc0a80000, 16},
                                                       {0x64400000, 10},
                                                       {0xa9fe0000, 16},
                                                       {0x7f000000, 8},
                                                       {0x00000000, 8}}};
  const std::uint32_t address = ntohl(four.s_addr);
  return std::none_of(kNotRouted.begin(), kNotRouted.end(),
                      [&](const Range& range) { return ((address ^ range.begin) >> (32 - range.bits)) == 0; });
}

/// What is handed out to be routed: 2000::/3 (RFC 4291, section 2.4).
bool is_public(const in6_addr& six) { return six.s6_addr[0] >> 5 == 1; }

}  // namespace

bool is_public(const std::string& address) {
  in_addr four{};
  in6_addr six{};
  if (inet_pton(AF_INET, address.c_str(), &four) == 1) return is_public(four);
  return inet_pton(AF_INET6, address.c_str(), &six) == 1 && is_public(six);
}

std::vector<std::string> public_addresses() {
  std::vector<std::string> found;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return found;
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const void* const address =
        family == AF_INET ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr)
                          : &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(family, address, text.data(), text.size()) && is_public(std::string(text.data())))
      found.push_back(std::string(text.data()) + " (" + one->ifa_name + ")");
  }
  freeifaddrs(first);
  return found;
}

}  // namespace baleen::app
