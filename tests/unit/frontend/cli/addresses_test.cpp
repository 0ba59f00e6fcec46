/// \file Ranges at their bounds.
#include "frontend/cli/addresses.hpp"

#include <gtest/gtest.h>

namespace baleen::app {
namespace {

TEST(Addresses, OfRangesThatNobodyRoutesAreNotPublic) {
  for (const char* address :
       {"10.0.0.1", "10.255.255.255", "172.16.0.0", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255",
        "169.254.3.4", "127.0.0.1", "::1", "fe80::1", "fd12:3456::1", "fc00::1", "", "eth0", "1.2.3"})
    EXPECT_FALSE(is_public(address)) << address;
}

TEST(Addresses, OfAllOthersArePublic) {
  for (const char* address : {"9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
                              "192.169.0.0", "100.63.255.255", "100.128.0.0", "203.0.113.5", "2001:db8::1"})
    EXPECT_TRUE(is_public(address)) << address;
}

}  // namespace
}  // namespace baleen::app
