/// \file What hwloc knows, as plain numbers.
#include "frontend/engine/processors.hpp"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>

namespace baleen {
namespace {

using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;
using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Bitmap empty_bitmap() { return {hwloc_bitmap_alloc(), hwloc_bitmap_free}; }

/// Null where hwloc cannot make one; errno says why.
Topology load(const std::function<int(hwloc_topology_t)>& describe) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {nullptr, hwloc_topology_destroy};
  Topology made(raw, hwloc_topology_destroy);
  if (describe(raw) != 0 || hwloc_topology_load(raw) != 0) made.reset();
  return made;
}

/// Read once: neither processors nor their places change while the program runs.
hwloc_topology_t this_machine() {
  static const Topology machine = load([](hwloc_topology_t) { return 0; });
  return machine.get();
}

int node_of(hwloc_topology_t topology, unsigned number) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)))
    if (hwloc_bitmap_isset(node->cpuset, number)) return static_cast<int>(node->logical_index);
  return 0;
}

Cpu cpu_of(hwloc_topology_t topology, hwloc_obj_t unit) {
  hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, unit);
  return {static_cast<int>(unit->os_index), node_of(topology, unit->os_index),
          static_cast<int>((core ? core : unit)->logical_index)};
}

/// All of the topology, in its order.
std::vector<Cpu> cpus_of(hwloc_topology_t topology) {
  std::vector<Cpu> cpus;
  hwloc_obj_t unit = nullptr;
  while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit))) cpus.push_back(cpu_of(topology, unit));
  return cpus;
}

}  // namespace

std::vector<Cpu> usable_cpus() {
  const Bitmap allowed = empty_bitmap();
  hwloc_topology_t machine = this_machine();
  if (!machine || !allowed || hwloc_get_cpubind(machine, allowed.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
  std::vector<Cpu> cpus;
  for (const Cpu& cpu : cpus_of(machine)) {
    if (!hwloc_bitmap_isset(allowed.get(), static_cast<unsigned>(cpu.number))) continue;
    cpus.push_back(cpu);
    hwloc_bitmap_clr(allowed.get(), static_cast<unsigned>(cpu.number));
  }
  const int known = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PU);
  for (int number = hwloc_bitmap_first(allowed.get()); number >= 0; number = hwloc_bitmap_next(allowed.get(), number))
    cpus.push_back({number, 0, known + number});
  return cpus;
}

Result<std::vector<Cpu>> described_cpus(const std::string& description) {
  const Topology described = load([&](hwloc_topology_t topology) {
    if (description.starts_with('<'))
      return hwloc_topology_set_xmlbuffer(topology, description.c_str(), static_cast<int>(description.size() + 1));
    return hwloc_topology_set_synthetic(topology, description.c_str());
  });
  if (!described) return invalid("hwloc reads no machine in `" + description + "`");
  return cpus_of(described.get());
}

Status keep_to(const std::vector<Cpu>& cpus) {
  const Bitmap set = empty_bitmap();
  for (const Cpu& cpu : cpus) hwloc_bitmap_set(set.get(), static_cast<unsigned>(cpu.number));
  if (this_machine() && hwloc_set_cpubind(this_machine(), set.get(), HWLOC_CPUBIND_THREAD) == 0) return {};
  return Error{BALEEN_IO, std::string("cannot choose processors: ") + std::strerror(errno), {}};
}

std::string cpus_text(const std::vector<Cpu>& cpus) {
  std::set<int> cores, nodes;
  for (const Cpu& cpu : cpus) {
    cores.insert(cpu.core);
    nodes.insert(cpu.node);
  }
  std::string text = std::to_string(cpus.size()) + " usable";
  if (cores.size() == cpus.size() && nodes.size() <= 1) return text;
  text += ": " + std::to_string(cores.size()) + (cores.size() == 1 ? " core" : " cores");
  return nodes.size() <= 1 ? text : text + ", " + std::to_string(nodes.size()) + " NUMA nodes";
}

}  // namespace baleen
