/// \file Which rank of a job is on which host. Pure data.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "common/place.hpp"

namespace baleen::launchers {

/// A host of a job.
struct LaunchHost {
  std::string name = "localhost";
  int ranks = 1;
  std::string address = {};  ///< as the others reach it; empty: its name
  bool is_bound = false;     ///< the address is given, so connections of this host come from it and no other

  const std::string& reached_at() const { return address.empty() ? name : address; }
};

/// Ranks are numbered host by host.
class Topology {
 public:
  explicit Topology(std::vector<LaunchHost> hosts);
  /// This host alone.
  explicit Topology(int ranks) : Topology(std::vector<LaunchHost>{{LaunchHost().name, ranks}}) {}

  int ranks() const { return static_cast<int>(host_of_rank_.size()); }
  int hosts() const { return static_cast<int>(hosts_.size()); }
  const LaunchHost& host(int host) const { return hosts_[static_cast<std::size_t>(host)]; }
  int host_of(int rank) const { return host_of_rank_[static_cast<std::size_t>(rank)]; }
  bool has(int host, int rank) const { return rank >= 0 && rank < ranks() && host_of(rank) == host; }
  /// Of a host, ascending.
  std::vector<int> ranks_of(int host) const;
  Place place(int rank, int threads) const;

  /// Where these ranks are: " on b", " on hosts a, b". Empty where that is no news.
  std::string on_hosts(std::span<const int> ranks) const;
  /// "ranks 3, 5 (hosts a, b)"; without hosts where there is one.
  std::string named(std::span<const int> ranks) const;

 private:
  /// "host b", "hosts a, b".
  std::string hosts_of(std::span<const int> ranks) const;

  std::vector<LaunchHost> hosts_;
  std::vector<int> host_of_rank_;
};

}  // namespace baleen::launchers
