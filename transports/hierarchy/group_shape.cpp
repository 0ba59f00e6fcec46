/// \file Hosts of a group, and whether sums by hosts are the sums that the contract promises.
#include "group_shape.hpp"

#include <algorithm>
#include <map>

#include "baleen/collective.hpp"

namespace baleen::hierarchy {
namespace {

/// Whether the tree over places [low, high) is one over the hosts [first, last), each with its own tree below.
bool same_tree(const std::vector<std::size_t>& begins, std::size_t first, std::size_t last) {
  if (last - first == 1) return true;
  const std::size_t middle = tree_middle(first, last);
  return begins[middle] == tree_middle(begins[first], begins[last]) && same_tree(begins, first, middle) &&
         same_tree(begins, middle, last);
}

}  // namespace

GroupShape::GroupShape(const std::vector<std::int32_t>& ranks, const std::vector<std::int32_t>& host_of,
                       std::size_t own_place)
    : members(ranks.size()), place(own_place) {
  std::map<std::int32_t, std::size_t> numbers;
  for (std::size_t member = 0; member < members; ++member) {
    const auto [found, added] = numbers.emplace(host_of[static_cast<std::size_t>(ranks[member])], hosts.size());
    if (added) hosts.emplace_back();
    contiguous = contiguous && found->second + 1 == hosts.size();
    hosts[found->second].push_back(member);
    host_of_place.push_back(found->second);
  }
  host = host_of_place[place];
  index = index_of(place);
  rails = members;
  std::vector<std::size_t> begins;
  for (const auto& places : hosts) {
    rails = std::min(rails, places.size());
    equal = equal && places.size() == hosts.front().size();
    begins.push_back(places.front());
  }
  begins.push_back(members);
  keeps_tree = contiguous && same_tree(begins, 0, hosts.size());
}

std::size_t GroupShape::index_of(std::size_t member) const {
  const auto& places = hosts[host_of_place[member]];
  return static_cast<std::size_t>(std::lower_bound(places.begin(), places.end(), member) - places.begin());
}

}  // namespace baleen::hierarchy
