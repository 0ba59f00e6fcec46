/// \file What every use of the engine starts with: the plugins that were found, the manifest, and what a user asks for
/// beside them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/launcher.hpp"
#include "core/launch/rank_link.hpp"
#include "core/log/log.hpp"
#include "core/plugin/registry.hpp"
#include "frontend/checkpoint/load_parts.hpp"
#include "frontend/engine/members.hpp"
#include "frontend/toml/manifest.hpp"

namespace baleen::app {

/// Plugins are found (no library is open yet), the manifest is read and overridden.
struct Setup {
  Log log;
  Registry registry;
  Manifest manifest;
  std::vector<std::string> command;  ///< of this process: the program's name as the user wrote it, then its arguments
  RankLink* link = nullptr;          ///< borrowed; null unless this process is a rank of several
  /// Borrowed: what starts the ranks, where this process is none and there are several.
  LauncherMember* launcher = nullptr;
  /// Ends this process, for a script that cannot be stopped otherwise (lua/script.hpp); none in other programs.
  std::function<void(const Error& why)> stuck = {};
};

/// Which part of a job on several hosts this process is, where a person starts each.
struct HostOptions {
  std::optional<std::int64_t> index;
  std::filesystem::path secret_file;  ///< "-": standard input, from the first host; empty: none
};

/// What all commands share whose ranks talk to each other.
struct RankOptions {
  HostOptions host;                   ///< of `run`, `verify` and `bench`
  std::optional<std::uint64_t> seed;  ///< stands above the script's
  PluginFlags flags;                  ///< of compute, transport and monitor plugins
};

/// What all commands share that run a script.
struct ScriptOptions : RankOptions {
  std::filesystem::path script;
  std::vector<std::string> script_args;  ///< after `--`
  std::optional<std::string> dtype;      ///< "fp32" or "fp64"; stands above the script's
  std::filesystem::path load;            ///< empty: none
  LoadParts parts;                       ///< of `load`
};

/// What decides which plugins there are.
struct SetupSources {
  std::vector<std::filesystem::path> plugin_paths;  ///< folders and libraries, sought before all others
  std::string plugin_paths_where;                   ///< who named them, for messages: "--plugin-path"
  std::filesystem::path manifest;                   ///< empty: none
  std::vector<std::string> sets;                    ///< "KEY=VALUE" over the manifest
};

/// Reads the manifest and finds plugins: the given ones, the manifest's, those that are installed beside the engine.
Result<Setup> set_up(const SetupSources& sources, const Log& log, std::vector<std::string> command);

}  // namespace baleen::app
