/// \file Processors from the kernel's tables, cut into equal runs.
#include "core/launch/cpu_sets.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <tuple>

namespace baleen {
namespace {

int topology(int cpu, const char* item, int otherwise) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + item);
  int value = 0;
  return file >> value ? value : otherwise;
}

}  // namespace

std::vector<Cpu> usable_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<Cpu> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed))
      cpus.push_back({cpu, topology(cpu, "physical_package_id", 0), topology(cpu, "core_id", cpu)});
  return cpus;
}

CpuShares share_cpus(std::vector<Cpu> cpus, int ranks, int threads) {
  const int count = static_cast<int>(cpus.size());
  CpuShares shares;
  shares.threads = threads > 0 ? threads : std::max(1, count / ranks);
  if (count < ranks * shares.threads) return shares;
  std::ranges::sort(cpus, {}, [](const Cpu& cpu) { return std::tuple(cpu.package, cpu.core, cpu.number); });
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int>& set = shares.sets.emplace_back();
    for (int i = rank * count / ranks; i < (rank + 1) * count / ranks; ++i)
      set.push_back(cpus[static_cast<std::size_t>(i)].number);
  }
  return shares;
}

}  // namespace baleen
