/// \file Choosing members. Every name is looked up here, before any library is opened.
#include "frontend/engine/members.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "compiler/plan/plan.hpp"
#include "core/execute/offload_store.hpp"

namespace baleen::app {
namespace {

std::string working_folder() {
  std::error_code code;
  return std::filesystem::current_path(code).string();
}

Result<Member> choose(const Registry& registry, std::string_view kind, const ManifestChoice& choice,
                      const std::string& folder, const PluginFlags& flags) {
  BALEEN_TRY_ASSIGN(Descriptor descriptor,
                    choice.plugin.empty() ? registry.best(kind) : registry.find(kind, choice.plugin, choice.where));
  Member member{std::move(descriptor), choice.options, choice.where, folder};
  for (const PluginFlag& flag : flags) {
    if (flag.kind != kind) continue;
    if (flag.plugin != member.descriptor.name)
      return invalid(
          "belongs to " + flag.kind + " `" + flag.plugin + "`, but this run uses `" + member.descriptor.name + "`",
          flag.value.where);
    apply_flag(member, flag);
  }
  return member;
}

Member& member_of(std::vector<Member>& members, Descriptor descriptor, const std::string& where,
                  const std::string& folder) {
  const auto same = [&](const Member& one) { return one.descriptor.name == descriptor.name; };
  const auto found = std::ranges::find_if(members, same);
  if (found != members.end()) return *found;
  return members.emplace_back(Member{std::move(descriptor), {}, where, folder});
}

}  // namespace

void apply_flag(Member& member, const PluginFlag& flag) {
  member.options.insert_or_assign(flag.option, flag.value);
  member.folder = working_folder();
}

Result<SettingsStorage> Member::settings(std::uint64_t seed, const Place& place) const {
  return SettingsStorage::build(descriptor, options,
                                {seed, folder, where, static_cast<std::uint32_t>(place.local_rank),
                                 static_cast<std::uint32_t>(place.local_ranks)});
}

Result<Member> choose_compute(const Registry& registry, const Manifest& manifest, const PluginFlags& flags) {
  return choose(registry, "compute", manifest.compute, manifest.folder(), flags);
}

Result<std::vector<ChosenPlace>> choose_offload(const Registry& registry, const Manifest& manifest) {
  std::vector<ManifestPlace> named = manifest.offload;
  if (named.empty()) named.emplace_back();
  std::vector<ChosenPlace> chosen;
  std::map<std::string, int> count;
  for (const ManifestPlace& place : named) {
    BALEEN_TRY_ASSIGN(Member member, choose(registry, "offload", place.member, manifest.folder(), {}));
    std::string name = member.descriptor.name;
    if (const int number = ++count[name]; number > 1) name += "." + std::to_string(number);
    chosen.push_back({std::move(member), {std::move(name), place.budget, false}});
  }
  return chosen;
}

Result<std::vector<OffloadPlace>> places_of(const Registry& registry, const std::vector<ChosenPlace>& chosen) {
  std::vector<OffloadPlace> places;
  for (const ChosenPlace& one : chosen) {
    places.push_back(one.place);
    BALEEN_TRY_ASSIGN(const Plugin plugin, registry.open(one.member.descriptor));
    BALEEN_TRY_ASSIGN(places.back().is_memory, OffloadStore::maps(plugin));
  }
  return places;
}

bool offloads(const Plan& plan) {
  return std::ranges::any_of(plan.graphs, [](const PlannedGraph& planned) {
    const Graph& graph = planned.scheduled.graph;
    for (ValueId v = 0; v < graph.value_count(); ++v)
      if (graph.value(v).offloaded_ahead > 0) return true;
    return false;
  });
}

Result<bool> maps_offloaded(const Registry& registry, const Manifest& manifest, const Plan& plan) {
  if (!offloads(plan)) return false;
  BALEEN_TRY_ASSIGN(const std::vector<ChosenPlace> chosen, choose_offload(registry, manifest));
  BALEEN_TRY_ASSIGN(const std::vector<OffloadPlace> places, places_of(registry, chosen));
  return std::ranges::all_of(places, &OffloadPlace::is_memory);
}

Result<std::vector<Member>> choose_monitors(const Registry& registry, const Manifest& manifest,
                                            const PluginFlags& flags) {
  std::vector<Member> members;
  const std::string folder = manifest.folder();
  if (Result<Descriptor> best = registry.best("monitor")) members.push_back({*std::move(best), {}, {}, folder});
  for (const ManifestMonitor& choice : manifest.monitors) {
    BALEEN_TRY_ASSIGN(Descriptor descriptor, registry.find("monitor", choice.plugin, choice.where));
    if (choice.on) {
      Member& member = member_of(members, std::move(descriptor), choice.where, folder);
      member.options = choice.options;
      member.where = choice.where;
    } else {
      std::erase_if(members, [&](const Member& one) { return one.descriptor.name == descriptor.name; });
    }
  }
  for (const PluginFlag& flag : flags) {
    if (flag.kind != "monitor") continue;
    BALEEN_TRY_ASSIGN(Descriptor descriptor, registry.find("monitor", flag.plugin, flag.value.where));
    apply_flag(member_of(members, std::move(descriptor), flag.value.where, folder), flag);
  }
  std::ranges::sort(members, {}, [](const Member& one) { return one.descriptor.name; });
  return members;
}

Result<std::vector<Member>> choose_plan(const Registry& registry, const Manifest& manifest) {
  std::vector<Member> members;
  if (!manifest.plan) return members;
  for (const ManifestChoice& step : *manifest.plan) {
    BALEEN_TRY_ASSIGN(Descriptor descriptor, registry.find("strategy", step.plugin, step.where));
    members.push_back({std::move(descriptor), step.options, step.where, manifest.folder()});
  }
  return members;
}

}  // namespace baleen::app
