/// \file Numbers ranks host by host.
#include "common/topology.hpp"

#include <set>
#include <utility>

#include "common/failure.hpp"

namespace baleen::launchers {

Topology::Topology(std::vector<LaunchHost> hosts) : hosts_(std::move(hosts)) {
  int number = 0;
  for (const LaunchHost& host : hosts_) {
    host_of_rank_.insert(host_of_rank_.end(), static_cast<std::size_t>(host.ranks), number);
    ++number;
  }
}

std::vector<int> Topology::ranks_of(int host) const {
  std::vector<int> found;
  for (int rank = 0; rank < ranks(); ++rank)
    if (host_of(rank) == host) found.push_back(rank);
  return found;
}

Place Topology::place(int rank, int threads) const {
  const int number = host_of(rank);
  const LaunchHost& own = host(number);
  return {rank, ranks(), rank - ranks_of(number).front(), own.ranks, own.name, threads, number, host_of_rank_, {}};
}

std::string Topology::hosts_of(std::span<const int> ranks) const {
  std::set<int> numbers;
  for (const int rank : ranks) numbers.insert(host_of(rank));
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ", ") + host(number).name;
  return (numbers.size() == 1 ? "host " : "hosts ") + text;
}

std::string Topology::on_hosts(std::span<const int> ranks) const {
  if (ranks.empty() || (hosts() == 1 && host(0).name == LaunchHost().name)) return {};
  const std::string text = hosts_of(ranks);
  const std::string one = "host ";
  return " on " + (text.starts_with(one) ? text.substr(one.size()) : text);
}

std::string Topology::named(std::span<const int> ranks) const {
  return rank_list(ranks) + (hosts() == 1 || ranks.empty() ? "" : " (" + hosts_of(ranks) + ")");
}

}  // namespace baleen::launchers
