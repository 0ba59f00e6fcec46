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
  std::string address = {};  ///< as the other hosts reach it; empty: by its name
  std::string cores = {};    ///< processors that its ranks may use, as "0-3,8"; empty: all
  std::string cores_where = {};
  /// Options that stand above the sections' on this host.
  UserValues compute = {}, transport = {};
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
  std::string key_where = {};    ///< of the key `plugin`, where it is there
  UserValues host_options = {};  ///< of one host, which stand above; see `on_host`
};

/// A place outside the device.
struct ManifestPlace {
  ManifestChoice member;
  std::optional<MemoryBudget> budget;  ///< what a rank may have there
};

struct ManifestMonitor {
  std::string plugin;
  bool on = true;  ///< `name = false` switches one off that would run by default
  UserValues options;
  std::string where;
};

struct ManifestPath {
  std::filesystem::path path;  ///< absolute
  std::string where;
};

/// frontend/toml/README.md lists the keys. Absent, or empty: one rank on localhost, the best compute plugin, no further
/// monitors.
struct Manifest {
  std::filesystem::path file;  ///< empty where there is none
  std::vector<ManifestHost> hosts = {ManifestHost{}};
  bool names_hosts = false;        ///< else one host with the ranks of the mesh, unless a launcher knows better
  std::vector<ManifestAxis> mesh;  ///< outermost first
  ManifestChoice launcher;         ///< what [cluster] says of how hosts meet is among its options
  ManifestChoice compute;
  ManifestChoice host_compute;  ///< who updates what lies in the host's memory, beside a device that does not
  ManifestChoice transport;
  std::vector<ManifestPlace> offload;       ///< where strategies move states, nearest first; none: the best member
  bool deterministic = true;                ///< sums of several ranks are alike in every run
  std::string deterministic_where;          ///< empty: not said
  std::vector<ManifestMonitor> monitors;    ///< in order of name
  std::vector<ManifestPath> plugin_paths;   ///< folders or libraries
  std::optional<MemoryBudget> device;       ///< what a rank may have on its device
  std::optional<MemoryBudget> activations;  ///< what a rank may hold at once beside model states
  std::optional<MemoryBudget> pinned;       ///< what a rank's collectives may pin of the host's memory
  std::optional<MemoryBudget> offloaded;    ///< what a rank's states may take outside the device
  std::optional<UserValues> checkpoint;     ///< options of [checkpoint]; `folder` is absolute
  std::string checkpoint_where;
  std::optional<std::vector<ManifestChoice>> plan;  ///< strategies in order; stands above the script's plan

  /// All of it, `--set` included, a line for each value: equal texts say the same.
  std::string text;

  std::int64_t ranks() const;
  /// Bytes of `activations`; 0 where the manifest does not say.
  std::uint64_t working_budget() const { return activations ? activations->bytes : 0; }
  /// As it holds on that host: with the host's own options. Those of the transport stay apart from the section's, for
  /// they may be for another plugin that it names.
  Manifest on_host(std::size_t host) const;
  /// What relative paths in the manifest are relative to: its folder, or the working folder. Without a trailing '/'.
  std::string folder() const;
  /// A path as the user means it: relative to that folder, or in a `--set` (as `where` says) to the working folder.
  std::filesystem::path resolved(const std::string& path, const std::string& where) const;
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
