/// \file Addresses of IP, and of local sockets.
#include "addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace baleen::ucx {
namespace {

const std::string kLocal = "local ";

/// The same for two processes if local names of one are those of the other.
const std::string& place() {
  static const std::string place = [] {
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    std::error_code failed;
    return boot + "/" + std::filesystem::read_symlink("/proc/self/ns/net", failed).string();
  }();
  return place;
}

const sockaddr_un& local(const Address& address) { return reinterpret_cast<const sockaddr_un&>(address.storage); }

/// What the system calls a local address: letters and digits, behind a zero byte.
std::string name_of(const Address& address) {
  const std::size_t bytes = address.size - std::min<std::size_t>(address.size, offsetof(sockaddr_un, sun_path) + 1);
  return {local(address).sun_path + 1, bytes};
}

std::optional<Address> local_address_from(const std::string& text) {
  const std::string before = kLocal + place() + " ";
  if (!text.starts_with(before)) return std::nullopt;
  const std::string name = text.substr(before.size());
  Address address = any_local_address();
  auto& at = reinterpret_cast<sockaddr_un&>(address.storage);
  if (name.empty() || name.size() >= sizeof at.sun_path) return std::nullopt;
  std::memcpy(at.sun_path + 1, name.data(), name.size());
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

Address any_local_address() {
  Address address;
  address.storage.ss_family = AF_UNIX;
  address.size = sizeof(sa_family_t);
  return address;
}

std::string text_of(const Address& address) {
  if (address.is_local()) return kLocal + place() + " " + name_of(address);
  char text[INET6_ADDRSTRLEN] = "?";
  const bool is_four = address.storage.ss_family == AF_INET;
  const auto& four = reinterpret_cast<const sockaddr_in&>(address.storage);
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address.storage);
  inet_ntop(address.storage.ss_family, is_four ? static_cast<const void*>(&four.sin_addr) : &six.sin6_addr, text,
            sizeof text);
  return std::string(text) + " " + std::to_string(ntohs(is_four ? four.sin_port : six.sin6_port));
}

std::optional<Address> address_from(const std::string& text) {
  if (text.starts_with(kLocal)) return local_address_from(text);
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  const std::string name = text.substr(0, space);
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + space + 1, end, port);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  Address address;
  auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
  if (inet_pton(AF_INET, name.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    address.size = sizeof four;
    address.is_loopback = ntohl(four.sin_addr.s_addr) >> 24 == 127;
  } else if (inet_pton(AF_INET6, name.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    address.size = sizeof six;
    address.is_loopback = IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
  } else {
    return std::nullopt;
  }
  return address;
}

Interfaces interfaces(const std::vector<std::string>& devices) {
  Interfaces all;
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return all;
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr || !(one->ifa_flags & IFF_UP)) continue;
    const bool is_four = one->ifa_addr->sa_family == AF_INET, is_six = one->ifa_addr->sa_family == AF_INET6;
    if (!is_four && !is_six) continue;
    all.names.insert(one->ifa_name);
    if (!devices.empty() && std::find(devices.begin(), devices.end(), one->ifa_name) == devices.end()) continue;
    if (is_six && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr)) continue;
    Address address;
    address.size = is_four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&address.storage, one->ifa_addr, address.size);
    address.is_loopback = one->ifa_flags & IFF_LOOPBACK;
    all.addresses.push_back(address);
  }
  freeifaddrs(first);
  return all;
}

}  // namespace baleen::ucx
