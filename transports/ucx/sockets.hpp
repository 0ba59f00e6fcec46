/// \file The sockets under UCX's TCP, which it offers no way to set or to ask about.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct tcp_info;

namespace baleen::ucx {

/// Found as what the worker's file watches. Used by one thread at a time, as the context is.
class Sockets {
 public:
  static constexpr int kLookMilliseconds = 250;

  /// `file`: the worker's, below which every connection is watched. A connection whose peer acknowledges nothing for
  /// `patience` seconds of looks is silent; one that is being made, for twice that: TCP tries again after a second, and
  /// after two more.
  Sockets(int file, double patience)
      : file_(file), silent_looks_(static_cast<int>(std::ceil(patience * 1000 / kLookMilliseconds))) {}

  /// Shuts silent connections down, so that UCX reports them as broken; the kernel alone would try for a quarter of an
  /// hour. Returns their addresses, or nothing. Counts looks, not time: a process that was stopped proves nothing. A
  /// peer that is stopped still answers. Connections that are new are made ready (`hasten`).
  std::string look();

 private:
  struct Seen {
    std::uint64_t cookie = 0;        // the kernel's name for the connection: numbers of closed files are used again
    std::uint64_t acknowledged = 0;  // bytes
    std::uint32_t sent = 0, answers = 0;  // segments: with data, and what came without
    bool asks = false;                    // something was sent after the last answer
    int looks = -1;  // at which bytes were under way, and none acknowledged since the one before; before the first: -1
  };

  static bool asks(const tcp_info& info, Seen& seen);
  bool is_silent(int socket, Seen& seen) const;

  const int file_;
  const int silent_looks_;
  std::map<int, Seen> seen_;
};

/// Sockets below a file of epoll, also through further such files.
std::vector<int> watched_sockets(int file);

/// Within a host nothing is congested, and algorithms that space packets out (bbr) halve the speed: the connection gets
/// one that does not.
void hasten(int socket);

}  // namespace baleen::ucx
