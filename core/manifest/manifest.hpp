/// \file The cluster manifest: where ranks run, how the mesh is cut, which plugins serve. Plain data; nothing here
/// knows a plugin.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"
#include "core/input/user_value.hpp"

namespace baleen {

struct ManifestHost {
  std::string name = "localhost";
  std::int64_t ranks = 1;
  std::string where;
};

struct ManifestAxis {
  std::string name;
  std::int64_t size = 1;
  std::string where;
};

/// A member of a family with its options. An empty `plugin` means the best that is found.
struct ManifestChoice {
  std::string plugin;
  UserValues options;
  std::string where;
};

/// Two transports that serve together.
struct ManifestHierarchy {
  ManifestChoice inside;            ///< hosts
  ManifestChoice between;           ///< hosts
  std::int64_t ranks_per_host = 0;  ///< cuts hosts into such parts; 0: they stay whole
};

struct ManifestMonitor {
  std::string plugin;
  bool on = true;  ///< `name = false` switches one off that would run by default
  UserValues options;
  std::string where;
};

/// A bound on bytes of each rank.
struct ManifestBudget {
  std::uint64_t bytes = 0;
  std::string where;
};

struct ManifestPath {
  std::filesystem::path path;  ///< absolute
  std::string where;
};

/// See DESIGN section 9 for the file. Absent, or empty: one rank on localhost, the best compute plugin, no further
/// monitors.
struct Manifest {
  std::filesystem::path file;  ///< empty where there is none
  std::vector<ManifestHost> hosts = {ManifestHost{}};
  std::vector<ManifestAxis> mesh;  ///< outermost first
  ManifestChoice compute;
  ManifestChoice transport;
  std::optional<ManifestHierarchy> hierarchy;       ///< instead of `transport`
  std::vector<ManifestMonitor> monitors;            ///< in order of name
  std::vector<ManifestPath> plugin_paths;           ///< folders or libraries
  std::optional<ManifestBudget> activations;        ///< what a rank may hold at once beside model states
  std::optional<std::vector<ManifestChoice>> plan;  ///< strategies in order; stands above the script's plan

  std::int64_t ranks() const;
  /// What relative paths in the manifest are relative to: its folder, or the working folder. Without a trailing '/'.
  std::string folder() const;
};

/// Reads `file` (none where it is empty), then applies `sets`, each "KEY=VALUE" with a dotted key and a TOML value, a
/// bare word being a string. Errors have file:line:column or the `--set` they come from.
Result<Manifest> read_manifest(const std::filesystem::path& file, std::span<const std::string> sets = {});
/// The same for a text; `file` names it in messages.
Result<Manifest> parse_manifest(std::string_view text, const std::filesystem::path& file,
                                std::span<const std::string> sets = {});

/// Name and version of the library underneath.
std::string_view manifest_library();

}  // namespace baleen
