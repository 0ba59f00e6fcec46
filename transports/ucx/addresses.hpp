/// \file Where ranks listen and how they write it down for each other.
#pragma once
#include <sys/socket.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace baleen::ucx {

/// Of a socket: one of a network's, or a local one, which has no network under it.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  bool is_loopback = false;

  int family() const { return storage.ss_family; }
  bool is_local() const { return family() == AF_UNIX; }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// "10.0.0.1 4711", or "local PLACE NAME", where a place is a system's network namespace: local names are unique there.
std::string text_of(const Address& address);
/// Nothing where it is no address, or a local one of another place.
std::optional<Address> address_from(const std::string& text);

/// For a socket that listens; the system gives it a name.
Address any_local_address();

struct Interfaces {
  std::vector<Address> addresses;
  std::set<std::string> names;
};

/// Of devices that are up; `devices`: empty, or the names of those that count. Link-local addresses do not.
Interfaces interfaces(const std::vector<std::string>& devices);

}  // namespace baleen::ucx
