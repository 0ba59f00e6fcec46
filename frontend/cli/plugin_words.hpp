/// \file The words of `baleen plugins`, `validate` and `new`. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>

#include "frontend/cli/commands.hpp"
#include "frontend/cli/option_checks.hpp"
#include "frontend/validate/launched_rank.hpp"

namespace baleen::app {

inline void add_list_words(CLI::App& sub, PluginsOptions& out) {
  auto* names = sub.add_option("NAME", out.names, "Show these with their options")->type_name("");
  auto* json = sub.add_flag("--json", out.json, "For programs: everything, as one JSON object");
  sub.add_flag("--stub", out.stub, "For editors: the ops of plugins, as a Lua file of annotations")
      ->excludes(json)
      ->excludes(names);
}

inline void add_validate_words(CLI::App& sub, ValidateOptions& out) {
  sub.add_option("FILE", out.file, "The plugin's shared library")->required()->type_name("");
  sub.add_option("--set", out.sets, "An option of the plugin, as in --set rows=100; may be repeated")
      ->type_name("OPTION=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--only", out.only, "Run this case alone; may be repeated")
      ->type_name("CASE")
      ->allow_extra_args(false);
  sub.add_option("--limit", out.limit, "Seconds for each case")
      ->type_name("SECONDS")
      ->capture_default_str()
      ->check(range_check(0.1, 3600));
  sub.add_flag("--json", out.json, "For programs: everything, as one JSON object");
  // Ranks of a launcher under test; no words for users.
  sub.add_option("--launch-rank", out.launch_rank)->group("");
  sub.add_option("--launch-folder", out.launch_folder)->group("");
  sub.add_option(validate::kLaunchWord, out.launch_word)->group("");
}

inline void add_new_words(CLI::App& sub, NewOptions& out) {
  sub.add_option("KIND", out.kind,
                 "What it is to be: optimizer, data, monitor, op, strategy, checkpoint, offload, compute, transport or "
                 "launcher")
      ->required()
      ->type_name("");
  sub.add_option("NAME", out.name, "Its name, and its folder's")->required()->type_name("");
  sub.add_flag("--c", out.in_c, "In C (optimizers)");
}

}  // namespace baleen::app
