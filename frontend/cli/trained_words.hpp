/// \file The words of commands that use a trained model: infer, evaluate, predict, generate. For command_line.cpp
/// alone.
#pragma once
#include <CLI/CLI.hpp>

#include "frontend/cli/commands.hpp"
#include "frontend/cli/option_checks.hpp"

namespace baleen::app {

inline void add_infer_words(CLI::App& sub, InferOptions& out) {
  sub.add_option("--program", out.program, "Which program; may be left out where the job has one")->type_name("NAME");
  sub.add_option("--inputs", out.inputs, "A file with the program's inputs, tensors by name")->type_name("FILE");
  sub.add_option("--outputs", out.outputs, "Write the outputs to this file, tensors by name")
      ->required()
      ->type_name("FILE");
}

/// `batches`: of --batches, which may be left out.
inline void add_evaluate_words(CLI::App& sub, EvaluateOptions& out, std::int64_t& batches) {
  sub.add_option("--data", out.data,
                 "All rows of this file, read as those of the training were; else what the script holds out")
      ->type_name("PATH");
  sub.add_option("--batches", batches, "How many batches of the held-out rows, 0 for all; stands above the script's")
      ->type_name("N")
      ->check(count_check(0));
  sub.add_flag("--json", out.json, "For programs: everything, as one JSON object");
}

inline void add_predict_words(CLI::App& sub, PredictOptions& out) {
  sub.add_option("--data", out.data,
                 "The rows, read as those of the training were; what is to be predicted may be missing there")
      ->required()
      ->type_name("PATH");
  sub.add_option("--out", out.out, "The file to write, a line for each row: .csv or .jsonl")
      ->required()
      ->type_name("FILE");
  sub.add_option("--format", out.format, "csv or jsonl; stands above the ending of --out")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "jsonl"}));
}

inline void add_generate_words(CLI::App& sub, GenerateOptions& out) {
  sub.add_option("--prompt", out.prompt, "The text to go on from")->type_name("TEXT");
  sub.add_option("--tokens", out.tokens, "How many tokens to write")
      ->type_name("N")
      ->capture_default_str()
      ->check(count_check(1));
  sub.add_option("--temperature", out.temperature, "0 takes the likeliest token, 1 samples as learned")
      ->type_name("X")
      ->capture_default_str()
      ->check(temperature_check());
  sub.add_option("--top-k", out.top_k, "Draw from so many likeliest tokens only; 0: from all")
      ->type_name("N")
      ->capture_default_str()
      ->check(count_check(0));
  sub.add_option("--top-p", out.top_p,
                 "Draw from the fewest tokens only whose probabilities add up to this part; 1: from all")
      ->type_name("X")
      ->capture_default_str()
      ->check(part_check());
  sub.add_option("--stop", out.stop, "End behind this text")->type_name("TEXT");
}

}  // namespace baleen::app
