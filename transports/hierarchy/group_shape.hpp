/// \file How a group lies on its hosts: pure arithmetic on places, from which collectives are composed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace baleen::hierarchy {

/// Members are meant by their place in the group, hosts by the order of their first members.
struct GroupShape {
  /// `ranks` of the group, ascending; `host_of` a number per rank of the world; `place` is the asking member's.
  GroupShape(const std::vector<std::int32_t>& ranks, const std::vector<std::int32_t>& host_of, std::size_t place);

  std::vector<std::vector<std::size_t>> hosts;  ///< the places on each, ascending
  std::vector<std::size_t> host_of_place;
  std::size_t members = 0;
  std::size_t place = 0, host = 0, index = 0;  ///< the asking member's: in the group; its host; its place there
  /// How many members of every host exchange with their like on other hosts: as many as the smallest host has.
  std::size_t rails = 0;
  bool contiguous = true;  ///< the places of each host follow each other
  bool equal = true;       ///< all hosts have as many
  /// Summing each host's members as a balanced tree, then the hosts' sums as one, is the balanced tree over all.
  bool keeps_tree = false;

  bool on_one_host() const { return hosts.size() == 1; }
  bool one_per_host() const { return hosts.size() == members; }
  bool on_rail() const { return index < rails; }
  bool is_here(std::size_t member) const { return host_of_place[member] == host; }
  std::size_t index_of(std::size_t member) const;
};

}  // namespace baleen::hierarchy
