/// \file Both ends of connections, as a handler of signals may tell them.
#include "core/plugin/connections.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "baleen/file_handle.hpp"

namespace baleen {
namespace {

std::string told() {
  SignalSafeLine line;
  add_connections(line, "with ");
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  line.write_to(ends[1]);
  close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = read(ends[0], text.data(), text.size());
  close(ends[0]);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Connects a socket with itself by the loopback; returns its port here and that of the other end.
template <class Address>
std::pair<int, int> connect_over(Address address, in_port_t Address::*port, FileHandle (&kept)[3]) {
  const int family = reinterpret_cast<sockaddr&>(address).sa_family;
  kept[0] = FileHandle(socket(family, SOCK_STREAM, 0));
  socklen_t bytes = sizeof address;
  EXPECT_EQ(bind(kept[0].get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  EXPECT_EQ(listen(kept[0].get(), 1), 0);
  EXPECT_EQ(getsockname(kept[0].get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  kept[1] = FileHandle(socket(family, SOCK_STREAM, 0));
  EXPECT_EQ(connect(kept[1].get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
  kept[2] = FileHandle(accept(kept[0].get(), nullptr, nullptr));
  const int there = ntohs(address.*port);
  EXPECT_EQ(getsockname(kept[1].get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  return {ntohs(address.*port), there};
}

TEST(Connections, AreToldWithBothEnds) {
  EXPECT_EQ(told(), "") << "there are none";
  FileHandle four[3], six[3];
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto [here, there] = connect_over(address, &sockaddr_in::sin_port, four);
  const std::string one = "127.0.0.1:" + std::to_string(here), two = "127.0.0.1:" + std::to_string(there);
  EXPECT_EQ(told(), "with " + one + " to " + two + ", " + two + " to " + one) << "who only listens is not told of";

  sockaddr_in6 other{};
  other.sin6_family = AF_INET6;
  other.sin6_addr = in6addr_loopback;
  if (bind(FileHandle(socket(AF_INET6, SOCK_STREAM, 0)).get(), reinterpret_cast<sockaddr*>(&other), sizeof other) != 0)
    return;  // this machine has no IPv6
  const auto [mine, others] = connect_over(other, &sockaddr_in6::sin6_port, six);
  EXPECT_NE(
      told().find("[0:0:0:0:0:0:0:1]:" + std::to_string(mine) + " to [0:0:0:0:0:0:0:1]:" + std::to_string(others)),
      std::string::npos)
      << told();
}

}  // namespace
}  // namespace baleen
