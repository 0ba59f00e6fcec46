/// \file Fills in the number of threads of compute plugins.
#include "frontend/engine/threads.hpp"

#include <set>
#include <utility>
#include <vector>

#include "frontend/engine/cpu_sets.hpp"

namespace baleen::app {
namespace {

/// Gives the plugin a number of threads, where it takes one and the user asks for none.
void give_threads(Member& compute, int threads, const char* from) {
  const Option* const option = compute.descriptor.threads_option();
  if (!option || threads_asked(compute) > 0) return;
  compute.options.insert_or_assign(option->name, UserValue{std::int64_t{threads}, from});
}

}  // namespace

int threads_asked(const Member& compute) {
  const Option* const option = compute.descriptor.threads_option();
  const auto value = option ? compute.options.find(option->name) : compute.options.end();
  if (value == compute.options.end()) return 0;
  const auto* count = std::get_if<std::int64_t>(&value->second.data);
  return count ? static_cast<int>(*count) : 0;
}

void share_threads(Member& compute, const Setup& setup) {
  if (!setup.link) return;
  const Place& place = setup.link->place();
  const int told = place.threads;
  give_threads(compute, told > 0 ? told : share_cpus(usable_cpus(), place.local_ranks, 0).threads, "the launcher");
}

Status share_threads_of(Member& compute, std::int64_t ranks, const std::string& cores) {
  std::vector<Cpu> cpus = usable_cpus();
  if (!cores.empty()) {
    BALEEN_TRY_ASSIGN(const std::set<int> numbers, cpu_numbers(cores));
    cpus.resize(numbers.size());
  }
  give_threads(compute, share_cpus(std::move(cpus), static_cast<int>(ranks), 0).threads, "the plan");
  return {};
}

}  // namespace baleen::app
