/// \file The user's options, checked.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "algorithm.hpp"
#include "baleen/plugin.hpp"

namespace baleen::ucx {

/// The names in a list with commas.
std::vector<std::string> names_in(const std::string& list);

struct Options {
  std::string tls;      ///< UCX's transports, "tcp,self"; empty: UCX chooses
  std::string devices;  ///< network devices, "eth0,mlx5_0:1"; empty: those of the address, and RDMA
  std::string address;  ///< where the launcher reaches other hosts, in digits; empty: not known
  std::uint64_t segment = 512 << 10;
  Overrides algorithms;
  bool integrity = false;
  double patience = 3.25;  ///< seconds without an acknowledgement, after which a connection is dead
  bool encrypt = false;    ///< messages travel over sockets of our own, under TLS 1.3
  bool direct = true;      ///< ranks of a host read each other's arenas

  static Result<Options> from(const Settings& settings);
  /// The same text where ranks can talk to each other: all but the names of devices.
  std::string fingerprint() const;
  /// What UCX is to be told; "": what it is told by the environment, or all. It chooses among all but posix where
  /// nothing was said: that makes a file and takes milliseconds to fill it before its name goes, so processes that are
  /// killed leave some, and it needs room in /dev/shm (64 MiB in a container). sysv does the same without both.
  std::string usable_tls() const;
  /// Whether reads of another process's memory may be chosen.
  bool allows_cma() const;
  /// The same without them; empty where nothing else was named.
  std::string tls_without_cma() const;
};

}  // namespace baleen::ucx
