/// \file The words of `baleen tokenizer`. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>

#include "baleen/result.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/option_checks.hpp"

namespace baleen::app {

inline void add_tokenizer_words(CLI::App& sub, TokenizerOptions& out) {
  // Words, not subcommands, so that options may stand on either side of them.
  sub.add_option(
         "WHAT", out.what,
         "train one on files; encode files, or standard input, line by line; decode numbers; or kinds: what can "
         "be trained, with options")
      ->required()
      ->check(CLI::IsMember({"train", "encode", "decode", "kinds"}))
      ->type_name("");
  sub.add_option("WORDS", out.words, "Files, folders or patterns to train on; files to encode; numbers to decode")
      ->type_name("");
  sub.add_option("--kind", out.kind, "train: which kind; `baleen tokenizer kinds` lists them")->type_name("KIND");
  sub.add_option("--vocab", out.vocabulary, "train: how many tokens")->type_name("N")->check(count_check(1));
  sub.add_option("--out", out.out, "train: the file to write")->type_name("FILE");
  sub.add_option("--option", out.options,
                 "train: an option of the kind, as in --option min_frequency=3; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub.add_option("--tokenizer", out.tokenizer, "encode, decode: a tokenizer's file or its folder")->type_name("PATH");
  sub.add_flag("--framed", out.framed, "encode: with the special tokens that the tokenizer puts around a text");
  sub.add_flag("--whole", out.whole, "encode: all of a file as one text, not line by line");
  sub.add_flag("--show", out.shows, "encode: a token a line, its number and how the vocabulary writes it");
  sub.add_option("--data", out.plugin, "The data plugin that makes tokenizers; default: the first that does")
      ->type_name("NAME");
}

/// What belongs to another word than the one that was given, or is missing.
inline Status check_tokenizer_words(const CLI::App& sub, const TokenizerOptions& options) {
  const auto given = [&](const char* word) { return !sub.get_option(word)->empty(); };
  const bool trains = options.what == "train", applies = options.what == "encode" || options.what == "decode";
  for (const char* word : {"--kind", "--vocab", "--out", "--option"})
    if (given(word) && !trains) return invalid(std::string(word) + " is for `baleen tokenizer train`");
  for (const char* word : {"--framed", "--whole", "--show"})
    if (given(word) && options.what != "encode")
      return invalid(std::string(word) + " is for `baleen tokenizer encode`");
  for (const char* word : {"--kind", "--vocab", "--out", "WORDS"})
    if (trains && !given(word))
      return invalid(std::string(word) +
                     " is missing, as in `baleen tokenizer train --kind KIND --vocab N --out FILE FILES`");
  if (applies && !given("--tokenizer"))
    return invalid("--tokenizer is missing, as in `baleen tokenizer " + options.what + " --tokenizer PATH`");
  if (!applies && given("--tokenizer")) return invalid("--tokenizer is for `baleen tokenizer encode` and `decode`");
  if (options.what == "kinds" && given("WORDS")) return invalid("`baleen tokenizer kinds` takes no further words");
  return {};
}

}  // namespace baleen::app
