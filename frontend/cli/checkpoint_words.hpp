/// \file The words of `baleen checkpoint`. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>

#include "baleen/result.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/option_checks.hpp"

namespace baleen::app {

inline const std::map<std::string, CheckpointOptions::Verb>& checkpoint_verbs() {
  using Verb = CheckpointOptions::Verb;
  static const std::map<std::string, Verb> verbs = {{"inspect", Verb::inspect},
                                                    {"verify", Verb::verify},
                                                    {"export", Verb::export_model},
                                                    {"import", Verb::import_model},
                                                    {"convert", Verb::convert}};
  return verbs;
}

inline void add_checkpoint_paths(CLI::App& sub, CheckpointOptions& out) {
  sub.add_option_function<std::string>(
         "WHAT", [&out](const std::string& word) { out.verb = checkpoint_verbs().at(word); },
         "inspect, verify (reads every byte), export (to a file, or to a folder as Hugging Face's), import (such "
         "a folder to a file), convert (the same names in other files or another dtype)")
      ->required()
      ->check(CLI::IsMember({"inspect", "verify", "export", "import", "convert"}))
      ->type_name("");
  sub.add_option("PATH", out.path,
                 "A checkpoint, a folder of some (the latest), a file of tensors, or another framework's folder")
      ->required()
      ->type_name("");
  sub.add_option("OUTPUT", out.output,
                 "With export, import, convert: the file to write, whose ending chooses how, or a new folder")
      ->type_name("");
}

inline void add_checkpoint_words(CLI::App& sub, CheckpointOptions& out) {
  add_checkpoint_paths(sub, out);
  sub.add_flag("--all", out.all, "With export: the optimizer's states too; to a file alone");
  sub.add_flag("--json", out.json, "With inspect: for programs, everything as one JSON object");
  sub.add_option("--config", out.config,
                 "A config.json, or the folder that has it: what the model is; import and convert find it in PATH")
      ->type_name("PATH");
  sub.add_option("--map", out.map, "A map of your own, in Lua; else by the config's model_type")->type_name("FILE");
  sub.add_option("--head", out.head, "What the model ends with, by the map's name; else by the config")
      ->type_name("NAME");
  sub.add_option("--dtype", out.dtype, "Of what is written: fp64, fp32, fp16 or bf16; else as it is")
      ->type_name("DTYPE")
      ->check(CLI::IsMember({"fp64", "fp32", "fp16", "bf16"}));
  sub.add_option("--max-file", out.max_file,
                 "Most bytes of a file in a folder, as in 500MiB; memory holds one file [2GiB]")
      ->type_name("BYTES")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50));
  sub.add_option("--vocab-multiple", out.vocab_multiple, "With import: pads the vocabulary to a multiple of N")
      ->type_name("N")
      ->check(count_check(1));
}

/// What belongs to another word than the one that was given, or is missing.
inline Status check_checkpoint_words(const CLI::App& sub, const CheckpointOptions& options) {
  using Verb = CheckpointOptions::Verb;
  const auto given = [&](const char* word) { return sub.get_option(word)->count() > 0; };
  const bool exports = options.verb == Verb::export_model, imports = options.verb == Verb::import_model;
  const bool writes = exports || imports || options.verb == Verb::convert;
  if (writes && options.output.empty()) return invalid("an OUTPUT is missing, a file or a folder to write");
  if (!writes && !options.output.empty()) return invalid("only export, import and convert write");
  if (options.all && !exports) return invalid("--all is for export");
  if (options.json && options.verb != Verb::inspect) return invalid("--json is for inspect");
  for (const char* word : {"--map", "--head"})
    if (given(word) && !exports && !imports) return invalid(std::string(word) + " is for export and import");
  for (const char* word : {"--config", "--dtype"})
    if (given(word) && !writes) return invalid(std::string(word) + " is for export, import and convert");
  if (given("--max-file") && (!writes || imports)) return invalid("--max-file is for export and convert");
  if (given("--vocab-multiple") && !imports)
    return invalid("--vocab-multiple is for import; export cuts what is padded");
  return {};
}

}  // namespace baleen::app
