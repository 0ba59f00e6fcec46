/// \file Lists of processors, and runs of neighbours for the ranks.
#include "frontend/engine/cpu_sets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace baleen {
namespace {

/// The numbers of "0-3,8"; nothing where it is no such list.
std::optional<std::set<int>> numbers_of(const std::string& list) {
  constexpr int kMost = 1 << 16;
  std::vector<bool> named(kMost + 1);  // a long list may name a processor again and again
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
    std::fill(named.begin() + first, named.begin() + last + 1, true);
    if (at == end) break;
    if (*at++ != ',') return std::nullopt;
  }
  std::set<int> numbers;
  for (int number = 0; number <= kMost; ++number)
    if (named[static_cast<std::size_t>(number)]) numbers.insert(numbers.end(), number);
  return numbers;
}

/// "0-3,8"
std::string list_of(const std::vector<Cpu>& cpus) {
  std::set<int> numbers;
  for (const Cpu& cpu : cpus) numbers.insert(cpu.number);
  std::string list;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const int first = *at;
    int last = first;
    while (++at != numbers.end() && *at == last + 1) ++last;
    list += (list.empty() ? "" : ",") + std::to_string(first);
    if (last > first) list += "-" + std::to_string(last);
  }
  return list;
}

using Set = std::vector<Cpu>;

/// What is not cut.
enum class Unit { node, core, processor };

int unit_of(const Cpu& cpu, Unit unit) {
  return unit == Unit::node ? cpu.node : unit == Unit::core ? cpu.core : cpu.number;
}

std::vector<Set> split(const Set& cpus, Unit unit) {
  std::vector<Set> parts;
  for (const Cpu& cpu : cpus) {
    if (parts.empty() || unit_of(parts.back().front(), unit) != unit_of(cpu, unit)) parts.emplace_back();
    parts.back().push_back(cpu);
  }
  return parts;
}

/// Adds one set per rank, of whole units of the first kind; where there are fewer of those than ranks, the ranks of one
/// share it by the next kind. Beyond the last kind sets are empty.
void cut(const Set& cpus, int ranks, std::span<const Unit> units, std::vector<Set>& sets) {
  const std::vector<Set> parts = units.empty() ? std::vector<Set>() : split(cpus, units.front());
  const int count = static_cast<int>(parts.size());
  if (count == 0) {
    sets.resize(sets.size() + static_cast<std::size_t>(ranks));
  } else if (ranks <= count) {
    for (int rank = 0; rank < ranks; ++rank) {
      Set& set = sets.emplace_back();
      for (int i = rank * count / ranks; i < (rank + 1) * count / ranks; ++i)
        set.insert(set.end(), parts[static_cast<std::size_t>(i)].begin(), parts[static_cast<std::size_t>(i)].end());
    }
  } else {
    for (int i = 0, rank = 0; i < count; ++i) {
      const int first = rank;
      while (rank < ranks && static_cast<std::int64_t>(rank) * count / ranks == i) ++rank;
      cut(parts[static_cast<std::size_t>(i)], rank - first, units.subspan(1), sets);
    }
  }
}

}  // namespace

Result<std::set<int>> cpu_numbers(const std::string& list, const std::string& where) {
  auto numbers = numbers_of(list);
  if (!numbers) return invalid("`" + list + "` is no list of processors like \"0-3,8\"", where);
  return *std::move(numbers);
}

Result<std::vector<Cpu>> choose_cpus(std::vector<Cpu> cpus, const std::string& list, const std::string& where) {
  if (list.empty()) return cpus;
  BALEEN_TRY_ASSIGN(const std::set<int> numbers, cpu_numbers(list, where));
  std::set<int> missing = numbers;
  for (const Cpu& cpu : cpus) missing.erase(cpu.number);
  if (!missing.empty())
    return invalid("`" + list + "` names processor " + std::to_string(*missing.begin()) +
                       ", which this host lacks or this process may not use; there are " + list_of(cpus),
                   where);
  std::erase_if(cpus, [&](const Cpu& cpu) { return !numbers.contains(cpu.number); });
  return cpus;
}

Status keep_to_cpus(const std::string& list, const std::string& where) {
  BALEEN_TRY_ASSIGN(const std::vector<Cpu> cpus, choose_cpus(usable_cpus(), list, where));
  return keep_to(cpus);
}

CpuShares share_cpus(std::vector<Cpu> cpus, int ranks, int threads) {
  static constexpr std::array kByNodesAndCores = {Unit::node, Unit::core}, kByNodes = {Unit::node, Unit::processor};
  static constexpr std::array kByCores = {Unit::core}, kByProcessors = {Unit::processor};
  const int count = static_cast<int>(cpus.size());
  CpuShares shares;
  shares.threads = threads > 0 ? threads : std::max(1, count / ranks);
  std::ranges::sort(cpus, {}, [](const Cpu& cpu) { return std::tuple(cpu.node, cpu.core, cpu.number); });
  for (const std::span<const Unit> units :
       std::initializer_list<std::span<const Unit>>{kByNodesAndCores, kByNodes, kByCores, kByProcessors}) {
    std::vector<Set> sets;
    cut(cpus, ranks, units, sets);
    const auto is_enough = [&](const Set& set) { return set.size() >= static_cast<std::size_t>(shares.threads); };
    if (!std::ranges::all_of(sets, is_enough)) continue;
    for (const Set& set : sets)
      for (std::vector<int>& numbers = shares.sets.emplace_back(); const Cpu& cpu : set) numbers.push_back(cpu.number);
    break;
  }
  return shares;
}

}  // namespace baleen
