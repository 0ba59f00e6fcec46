/// \file Where a process listens for connections, in its own network.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace baleen::test {

struct Listening {
  std::string address;  ///< "10.0.0.1", "::1"
  std::uint16_t port = 0;
};

/// The sockets that a process has open, as "socket:[NUMBER]".
inline std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", none))
    found.insert(std::filesystem::read_symlink(entry.path(), none).string());
  return found;
}

/// Of the system's table: words of 32 bits as this machine has them, in hexadecimal digits.
inline std::string address_of(const std::string& digits) {
  std::uint32_t words[4] = {};
  for (std::size_t i = 0; i < digits.size() / 8; ++i)
    words[i] = static_cast<std::uint32_t>(std::strtoul(digits.substr(8 * i, 8).c_str(), nullptr, 16));
  char text[INET6_ADDRSTRLEN] = "?";
  inet_ntop(digits.size() == 8 ? AF_INET : AF_INET6, words, text, sizeof text);
  return text;
}

/// TCP sockets of processes of one network that take connections.
inline std::vector<Listening> listening_of(const std::set<pid_t>& processes) {
  std::set<std::string> own;
  for (const pid_t process : processes) own.merge(sockets_of(process));
  std::vector<Listening> found;
  for (const char* const table : {"tcp", "tcp6"}) {
    if (processes.empty()) break;
    std::ifstream file("/proc/" + std::to_string(*processes.begin()) + "/net/" + table);
    std::string line;
    for (std::getline(file, line); std::getline(file, line);) {
      std::istringstream words(line);
      std::string number, local, remote, state, skipped, inode;
      words >> number >> local >> remote >> state;
      if (state != "0A") continue;
      for (int i = 0; i < 5; ++i) words >> skipped;
      words >> inode;
      const std::size_t colon = local.find(':');
      if (!own.contains("socket:[" + inode + "]")) continue;
      found.push_back({address_of(local.substr(0, colon)),
                       static_cast<std::uint16_t>(std::strtoul(local.substr(colon + 1).c_str(), nullptr, 16))});
    }
  }
  return found;
}

}  // namespace baleen::test
