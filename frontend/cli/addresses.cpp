/// \file As the system lists them in /proc/net, and by the prefixes of the ranges that nobody routes.
#include "frontend/cli/addresses.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

namespace baleen::app {
namespace {

struct Range {
  std::uint32_t begin;
  int bits;
};
constexpr std::array<Range, 7> kNotRouted = {{{0x0a000000, 8},
                                              {0xac100000, 12},
                                              {0xc0a80000, 16},
                                              {0x64400000, 10},
                                              {0xa9fe0000, 16},
                                              {0x7f000000, 8},
                                              {0x00000000, 8}}};

/// "10.0.0.1" as a number.
std::optional<std::uint32_t> four_bytes(const std::string& text) {
  std::uint32_t address = 0;
  const char *at = text.data(), *const end = text.data() + text.size();
  for (int i = 0; i < 4; ++i) {
    std::uint8_t byte = 0;
    const auto [stop, code] = std::from_chars(at, end, byte);
    if (code != std::errc() || (i < 3 ? stop == end || *stop != '.' : stop != end)) return std::nullopt;
    address = address << 8 | byte;
    at = stop + 1;
  }
  return address;
}

/// Addresses of this machine's own: a leaf of the table of routes is one where it is said to be local.
void add_four(std::set<std::string>& found) {
  std::ifstream table("/proc/net/fib_trie");
  std::string leaf;
  for (std::string line; std::getline(table, line);) {
    if (const std::size_t at = line.find("|-- "); at != std::string::npos) leaf = line.substr(at + 4);
    if (line.find("/32 host LOCAL") != std::string::npos) found.insert(leaf);
  }
}

void add_six(std::set<std::string>& found) {
  std::ifstream table("/proc/net/if_inet6");
  for (std::string line; std::getline(table, line);) {
    constexpr std::size_t kDigits = 32, kGroup = 4;
    if (line.size() < kDigits) continue;
    std::string address;
    for (std::size_t at = 0; at < kDigits; at += kGroup) address += (at ? ":" : "") + line.substr(at, kGroup);
    found.insert(address);
  }
}

}  // namespace

bool is_public(const std::string& address) {
  if (const auto four = four_bytes(address))
    return std::none_of(kNotRouted.begin(), kNotRouted.end(),
                        [&](const Range& range) { return ((*four ^ range.begin) >> (32 - range.bits)) == 0; });
  // What is handed out to be routed: 2000::/3 (RFC 4291, section 2.4).
  return address.find(':') == 4 && (address[0] == '2' || address[0] == '3');
}

std::vector<std::string> public_addresses() {
  std::set<std::string> all;
  add_four(all);
  add_six(all);
  std::vector<std::string> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), is_public);
  return found;
}

}  // namespace baleen::app
