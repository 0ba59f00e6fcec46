/// \file Fills in the option `threads` of compute plugins.
#include "frontend/engine/threads.hpp"

#include <set>
#include <utility>
#include <vector>

#include "core/launch/cpu_sets.hpp"

namespace baleen::app {
namespace {

constexpr const char* kThreads = "threads";

bool has_threads(const Member& member) {
  const Option* option = member.descriptor.find(kThreads);
  return option && option->type == BALEEN_OPTION_INT;
}

}  // namespace

int threads_asked(const Member& compute) {
  const auto value = compute.options.find(kThreads);
  if (!has_threads(compute) || value == compute.options.end()) return 0;
  const auto* count = std::get_if<std::int64_t>(&value->second.data);
  return count ? static_cast<int>(*count) : 0;
}

void share_threads(Member& compute, const Setup& setup) {
  if (!setup.link || !has_threads(compute) || threads_asked(compute) > 0) return;
  const std::int64_t threads = setup.link->place().threads;
  compute.options.insert_or_assign(kThreads, UserValue{threads, "the launcher"});
}

Status share_threads_of(Member& compute, std::int64_t ranks, const std::string& cores) {
  if (!has_threads(compute) || threads_asked(compute) > 0) return {};
  std::vector<Cpu> cpus = usable_cpus();
  if (!cores.empty()) {
    BALEEN_TRY_ASSIGN(const std::set<int> numbers, cpu_numbers(cores));
    cpus.resize(numbers.size());
  }
  const std::int64_t threads = share_cpus(std::move(cpus), static_cast<int>(ranks), 0).threads;
  compute.options.insert_or_assign(kThreads, UserValue{threads, "the plan"});
  return {};
}

}  // namespace baleen::app
