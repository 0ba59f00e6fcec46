/// \file The command line: words to plain structs (only CLI11 here). Two readings: an early one that finds what decides
/// which plugins there are, and the full one, which knows the flags that those plugins contribute.
#pragma once
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "baleen/result.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

/// What must be known before plugins are sought. Nothing is checked yet but the level.
struct EarlyOptions {
  std::vector<std::filesystem::path> plugin_paths;
  std::filesystem::path manifest;
  std::vector<std::string> sets;
  baleen_level_t level = BALEEN_INFO;
};

struct DoctorOptions {};
/// `--help` or `--version`: print this and succeed.
struct TextOnly {
  std::string text;
};

using Command = std::variant<RunOptions, VerifyOptions, InferOptions, EvaluateOptions, PredictOptions, GenerateOptions,
                             GraphOptions, PlanOptions, BenchOptions, PluginsOptions, ValidateOptions, NewOptions,
                             CheckpointOptions, SecretOptions, TokenizerOptions, DoctorOptions, TextOnly>;

/// Reads only what EarlyOptions holds and overlooks all else. `words` are the arguments without the program's name.
EarlyOptions parse_early(const std::vector<std::string>& words);

/// Reads everything. `plugins` contribute a flag for each option that has a `cli` name. Errors are INVALID with the
/// nearest known word.
Result<Command> parse_command_line(const std::vector<std::string>& words, const std::vector<Descriptor>& plugins);

/// Name and version of the library underneath.
std::string_view command_line_library();

}  // namespace baleen::app
