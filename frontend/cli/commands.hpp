/// \file The subcommands: what each one is told, and the functions that do it. Each returns the exit code of the
/// process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/launch/launcher.hpp"
#include "core/launch/rank_link.hpp"
#include "core/log/log.hpp"
#include "core/plugin/registry.hpp"
#include "frontend/cli/members.hpp"
#include "frontend/toml/manifest.hpp"

namespace baleen::app {

/// What every command starts with: plugins are found (no library is open yet), the manifest is read and overridden.
struct Setup {
  Log log;
  Registry registry;
  Manifest manifest;
  std::vector<std::string> command;  ///< of this process: the program's name as the user wrote it, then its arguments
  RankLink* link = nullptr;          ///< borrowed; null unless this process is a rank of several
  LauncherMember* launcher =
      nullptr;  ///< borrowed; what starts the ranks, where this process is none and there are several
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
  bool checked = false;               ///< compare every collective with the other ranks'
};

/// What all commands that run a script share.
struct ScriptOptions : RankOptions {
  std::filesystem::path script;
  std::vector<std::string> script_args;  ///< after `--`
  std::optional<std::string> dtype;      ///< "fp32" or "fp64"; stands above the script's
  std::filesystem::path load;            ///< empty: none
};

struct RunOptions : ScriptOptions {
  std::optional<std::int64_t> steps;  ///< stands above the script's
  std::filesystem::path save;         ///< empty: none
  bool print_passes = false;          ///< print the graph after every pass that changed it
};

struct VerifyOptions : ScriptOptions {
  std::int64_t steps = 20;
};

struct GenerateOptions : ScriptOptions {
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest token
};

struct GraphOptions : ScriptOptions {
  std::string graph = "train";  ///< "train", "evaluate" or "generate"
  bool dot = false;             ///< Graphviz instead of text
  bool print_passes = false;
};

struct PlanOptions : ScriptOptions {
  bool exact = false;  ///< ranks of different roles in calls are classes of their own
  bool json = false;
};

struct BenchOptions : RankOptions {
  std::vector<std::string> collectives;       ///< empty: all
  std::vector<std::string> groups;            ///< axes of the mesh, joined by '+'; empty: each axis, and all
  std::uint64_t from = 8, to = 256ull << 20;  ///< bytes
  double seconds = 0.2;                       ///< of measuring, per size
  bool own_memory = false;                    ///< not the transport's, even where it has some
  bool json = false;
};

struct PluginsOptions {
  std::vector<std::string> names;  ///< empty: all, without their options
  bool json = false;
  bool stub = false;  ///< what editors are told of ops that are plugins', as Lua annotations
};

struct SecretOptions {
  std::filesystem::path file;
};

int run_command(const RunOptions& options, const Setup& setup);
int verify_command(const VerifyOptions& options, const Setup& setup);
int generate_command(const GenerateOptions& options, const Setup& setup);
int graph_command(const GraphOptions& options, const Setup& setup);
int plan_command(const PlanOptions& options, const Setup& setup);
int bench_command(const BenchOptions& options, const Setup& setup);
int plugins_command(const PluginsOptions& options, const Setup& setup);
int doctor_command(const Setup& setup);
int secret_command(const SecretOptions& options, const Setup& setup);

}  // namespace baleen::app
