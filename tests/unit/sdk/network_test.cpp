/// \file Interfaces by their addresses, on whatever machine this is.
#include "baleen/network.hpp"

#include <gtest/gtest.h>
#include <netdb.h>

namespace baleen {
namespace {

/// Calls `see` with every address of an interface that is up, and the interface's name.
template <class See>
void each_address(const See& see) {
  ifaddrs* all = nullptr;
  ASSERT_EQ(getifaddrs(&all), 0);
  for (const ifaddrs* one = all; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    ASSERT_EQ(getnameinfo(one->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST), 0);
    see(std::string(text), std::string(one->ifa_name));
  }
  freeifaddrs(all);
}

TEST(Network, KnowsTheInterfaceOfEveryAddress) {
  int seen = 0;
  each_address([&](const std::string& address, const std::string& name) {
    ++seen;
    EXPECT_EQ(interface_of(address), name) << address;
  });
  EXPECT_GT(seen, 0) << "no address at all, not even the loopback's";
}

TEST(Network, TakesEveryLoopbackAddress) {
  EXPECT_EQ(interface_of("127.0.0.2"), interface_of("127.0.0.1"));
  EXPECT_NE(interface_of("127.0.0.1"), "");
}

TEST(Network, FindsNothingForOtherAddresses) {
  for (const char* const address : {"", "192.0.2.1", "2001:db8::1", "fe80::1%nowhere", "localhost", "127.0.0", "eth0"})
    EXPECT_EQ(interface_of(address), "") << address;
}

}  // namespace
}  // namespace baleen
