/// \file The words about what is loaded: --load and which parts of it. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "baleen/result.hpp"
#include "frontend/engine/setup.hpp"

namespace baleen::app {

/// Of commands for which parameters are read.
inline CLI::Option* add_load_words(CLI::App& sub, ScriptOptions& out, std::vector<std::string>& renames,
                                   const char* help) {
  CLI::Option* const load = sub.add_option("--load", out.load, help)->type_name("PATH");
  const auto many = [&](const char* word, std::vector<std::string>& to, const char* type, const char* text) {
    return sub.add_option(word, to, text)->type_name(type)->allow_extra_args(false);
  };
  many("--load-only", out.parts.only, "PATTERN",
       "With --load: only these parameters, as in encoder.*; the others keep their first values; may be repeated")
      ->needs(load);
  many("--load-except", out.parts.except, "PATTERN", "With --load: all but these; may be repeated")->needs(load);
  many("--load-rename", renames, "FROM=TO",
       "With --load: what is called FROM there is the model's TO, as in encoder.*=body.*; may be repeated")
      ->needs(load);
  many("--allow-extra", out.parts.allow_extra, "PATTERN",
       "With --load: tensors there that the model may lack; may be repeated")
      ->needs(load);
  return load;
}

/// --allow-missing; `resumes`: goes with --resume too.
inline void add_allow_missing(CLI::App& sub, ScriptOptions& out, bool resumes) {
  sub.add_option("--allow-missing", out.parts.allow_missing,
                 resumes ? "With --load: parameters that it may lack, which keep their first values, as in head.*; "
                           "with --resume: tensors that the checkpoint or the job may lack; may be repeated"
                         : "Parameters that --load may lack, which keep their first values, as in head.*; may be "
                           "repeated")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
}

inline Status take_renames(const std::vector<std::string>& words, ScriptOptions& out) {
  for (const std::string& word : words) {
    BALEEN_TRY_ASSIGN(LoadRename rename, parse_rename(word));
    out.parts.renames.push_back(std::move(rename));
  }
  return {};
}

}  // namespace baleen::app
