/// \file Siblings, as hwloc knows them.
#include "core_order.hpp"

#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace baleen::cpu {

std::vector<int> cores_first(const std::vector<int>& processors, const std::string& described) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return processors;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> machine(raw, hwloc_topology_destroy);
  if (!described.empty() && hwloc_topology_set_synthetic(raw, described.c_str()) != 0) return processors;
  if (hwloc_topology_load(raw) != 0) return processors;

  struct Place {
    int sibling;  ///< how many of its core come before it
    unsigned at;  ///< among all
    int number;
  };
  std::vector<Place> places;
  std::map<hwloc_obj_t, int> taken;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, unit))) {
    const int number = static_cast<int>(unit->os_index);
    if (!std::ranges::count(processors, number)) continue;
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_CORE, unit);
    places.push_back({taken[core ? core : unit]++, unit->logical_index, number});
  }
  if (places.size() != processors.size()) return processors;  // hwloc does not know them all
  std::ranges::sort(places, {}, [](const Place& place) { return std::tuple(place.sibling, place.at); });
  std::vector<int> ordered;
  for (const Place& place : places) ordered.push_back(place.number);
  return ordered;
}

}  // namespace baleen::cpu
