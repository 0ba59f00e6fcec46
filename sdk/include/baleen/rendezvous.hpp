/// \file How ranks meet before there is a transport, with C++ manners.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/plugin.hpp"
#include "baleen/transport.h"

namespace baleen {

/// The host's store with C++ manners; borrowed, valid during `create`. A failure has its text already: it throws
/// Failed.
class Rendezvous {
 public:
  explicit Rendezvous(const baleen_rendezvous_t* rendezvous) : rendezvous_(rendezvous) {}

  std::int32_t rank() const { return rendezvous_->rank; }
  std::int32_t ranks() const { return rendezvous_->ranks; }
  /// A number per rank, the same for ranks of one host.
  std::vector<std::int32_t> host_of() const {
    const bool told = rendezvous_->size >= offsetof(baleen_rendezvous_t, address) && rendezvous_->host_of;
    if (!told) return std::vector<std::int32_t>(static_cast<std::size_t>(ranks()));
    return {rendezvous_->host_of, rendezvous_->host_of + ranks()};
  }
  bool on_one_host() const {
    const std::vector<std::int32_t> hosts = host_of();
    return std::equal(hosts.begin() + 1, hosts.end(), hosts.begin());
  }
  /// Where to listen for the other ranks unless the user says otherwise, in digits: loopback where all are on one host.
  /// Empty: not known.
  std::string address() const {
    if (on_one_host()) return "127.0.0.1";
    const bool told = rendezvous_->size >= sizeof(baleen_rendezvous_t) && rendezvous_->address;
    return told ? rendezvous_->address : std::string();
  }
  /// As the host gave it, to pass on.
  const baleen_rendezvous_t* get() const { return rendezvous_; }
  void put(std::string_view key, std::string_view value) const {
    if (const auto status = rendezvous_->put(rendezvous_->self, abi(key), abi(value)); status != BALEEN_OK)
      throw Failed(status);
  }
  /// Waits for the key.
  std::string get(std::string_view key) const {
    std::string value(256, '\0');
    while (true) {
      const std::int64_t bytes = rendezvous_->get(rendezvous_->self, abi(key), value.data(), value.size());
      if (bytes < 0) throw Failed(BALEEN_PEER_LOST);
      const bool whole = static_cast<std::uint64_t>(bytes) <= value.size();
      value.resize(static_cast<std::size_t>(bytes));
      if (whole) return value;
    }
  }
  /// Whoever waits in `create` for anything but a key asks this several times a second.
  bool over() const { return rendezvous_->over(rendezvous_->self) != 0; }

 private:
  const baleen_rendezvous_t* rendezvous_;
};

}  // namespace baleen
