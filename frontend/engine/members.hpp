/// \file Which members serve a run: the manifest's choice, the flags of the command line, or the best that was found.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"
#include "core/launch/place.hpp"
#include "core/plugin/registry.hpp"
#include "core/plugin/settings.hpp"
#include "core/runtime/offload_places.hpp"
#include "frontend/toml/manifest.hpp"

namespace baleen {
struct Plan;
}

namespace baleen::app {

/// A flag that a plugin's option contributed (`--<cli> VALUE`), as it was used.
struct PluginFlag {
  std::string kind, plugin, option;
  UserValue value;  ///< already of the option's type; its `where` is the flag
};
using PluginFlags = std::vector<PluginFlag>;

/// A member with the options it was given.
struct Member {
  Descriptor descriptor;
  UserValues options;
  std::string where;   ///< the place that named it, if one did
  std::string folder;  ///< what relative paths in its options are relative to

  /// Checks the options against the schema. `place`: the rank's, by what is told of its host.
  Result<SettingsStorage> settings(std::uint64_t seed, const Place& place = {}) const;
};

/// A flag stands above the manifest. Its paths are relative to where the user typed it.
void apply_flag(Member& member, const PluginFlag& flag);

/// The compute plugin of the manifest, or the best. A flag of another compute plugin than the chosen is an error.
Result<Member> choose_compute(const Registry& registry, const Manifest& manifest, const PluginFlags& flags);
/// A place outside the device, and who keeps it.
struct ChosenPlace {
  Member member;
  OffloadPlace place;
};
/// Those of the manifest, nearest first, or the best offload plugin alone.
Result<std::vector<ChosenPlace>> choose_offload(const Registry& registry, const Manifest& manifest);
/// The places alone, with what their plugins say of them.
Result<std::vector<OffloadPlace>> places_of(const Registry& registry, const std::vector<ChosenPlace>& chosen);
/// Whether the plan keeps anything outside the device.
bool offloads(const Plan& plan);
/// Whether the slots of all places lie in the host's memory.
Result<bool> maps_offloaded(const Registry& registry, const Manifest& manifest, const Plan& plan);
/// The transport of runs of several ranks, with all plugins that it is made of checked.
Result<Member> choose_transport(const Registry& registry, const Manifest& manifest, const PluginFlags& flags);
/// For people: its name, and of what it is made.
std::string text_of(const Member& transport);
/// A line for people where sums of several ranks may differ from run to run; else empty.
std::string order_note(const Manifest& manifest);
/// The best monitor unless switched off, those that the manifest switches on, and those whose flags were used. By name.
Result<std::vector<Member>> choose_monitors(const Registry& registry, const Manifest& manifest,
                                            const PluginFlags& flags);
/// The strategies of the manifest's [[plan]], in order.
Result<std::vector<Member>> choose_plan(const Registry& registry, const Manifest& manifest);

}  // namespace baleen::app
