/// \file Processors from the kernel's tables, cut into equal runs.
#include "frontend/engine/cpu_sets.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace baleen {
namespace {

int topology(int cpu, const char* item, int otherwise) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + item);
  int value = 0;
  return file >> value ? value : otherwise;
}

/// The numbers of "0-3,8"; nothing where it is no such list.
std::optional<std::set<int>> numbers_of(const std::string& list) {
  constexpr int kMost = 1 << 16;
  std::set<int> numbers;
  const char *at = list.data(), *const end = at + list.size();
  for (;;) {
    int first = -1;
    const auto [stop, code] = std::from_chars(at, end, first);
    if (code != std::errc() || first < 0 || first > kMost) return std::nullopt;
    int last = first;
    at = stop;
    if (at != end && *at == '-') {
      const auto [stop2, code2] = std::from_chars(at + 1, end, last);
      if (code2 != std::errc() || last < first || last > kMost) return std::nullopt;
      at = stop2;
    }
    for (int number = first; number <= last; ++number) numbers.insert(number);
    if (at == end) return numbers;
    if (*at++ != ',') return std::nullopt;
  }
}

}  // namespace

Result<std::set<int>> cpu_numbers(const std::string& list) {
  auto numbers = numbers_of(list);
  if (!numbers) return invalid("`" + list + "` is no list of processors like \"0-3,8\"");
  return *std::move(numbers);
}

Result<std::vector<Cpu>> choose_cpus(std::vector<Cpu> cpus, const std::string& list) {
  if (list.empty()) return cpus;
  BALEEN_TRY_ASSIGN(const std::set<int> numbers, cpu_numbers(list));
  std::set<int> missing = numbers;
  for (const Cpu& cpu : cpus) missing.erase(cpu.number);
  if (!missing.empty())
    return invalid("`" + list + "` names processor " + std::to_string(*missing.begin()) +
                   ", which this host lacks or this process may not use");
  std::erase_if(cpus, [&](const Cpu& cpu) { return !numbers.contains(cpu.number); });
  return cpus;
}

Status keep_to_cpus(const std::string& list) {
  BALEEN_TRY_ASSIGN(const std::vector<Cpu> cpus, choose_cpus(usable_cpus(), list));
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const Cpu& cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu.number), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return Error{BALEEN_IO, "cannot keep to the processors `" + list + "`", {}};
}

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
