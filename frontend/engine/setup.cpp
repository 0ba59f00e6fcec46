/// \file Reads the manifest, then finds the plugins.
#include "frontend/engine/setup.hpp"

#include <system_error>
#include <utility>

#include "frontend/engine/installation.hpp"

namespace baleen::app {
namespace {

/// Plugins named by the user come first, so that they hide installed ones of the same name.
std::vector<PluginPlace> plugin_places(const SetupSources& sources, const Manifest& manifest) {
  std::vector<PluginPlace> places;
  for (const auto& path : sources.plugin_paths) places.push_back({path, sources.plugin_paths_where});
  for (const ManifestPath& path : manifest.plugin_paths) places.push_back({path.path, path.where});
  std::error_code code;
  if (const auto installed = installed_plugins(); std::filesystem::is_directory(installed, code))
    places.push_back({installed, {}});
  return places;
}

}  // namespace

Result<Setup> set_up(const SetupSources& sources, const Log& log, std::vector<std::string> command) {
  BALEEN_TRY_ASSIGN(Manifest manifest, read_manifest(sources.manifest, sources.sets));
  BALEEN_TRY_ASSIGN(Registry registry, Registry::discover(plugin_places(sources, manifest), log));
  return Setup{log, std::move(registry), std::move(manifest), std::move(command)};
}

}  // namespace baleen::app
