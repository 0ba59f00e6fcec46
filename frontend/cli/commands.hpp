/// \file The subcommands: what each one is told, and the functions that do it. Each returns the exit code of the
/// process. Those with `kHasRanks` run in each rank that a launcher starts.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "frontend/engine/pass_printer.hpp"
#include "frontend/engine/setup.hpp"

namespace baleen::app {

struct RunOptions : ScriptOptions {
  static constexpr bool kHasRanks = true;
  std::optional<std::int64_t> steps;  ///< stands above the script's
  std::filesystem::path save;         ///< empty: none
  std::string resume;                 ///< "latest", "auto" or a folder; empty: from the start
  PassView passes;                    ///< the graph after every pass that changed it
};

struct VerifyOptions : ScriptOptions {
  static constexpr bool kHasRanks = true;
  std::int64_t steps = 20;
};

struct InferOptions : ScriptOptions {
  static constexpr bool kHasRanks = true;
  std::string program;                    ///< empty: the only one that the job has
  std::filesystem::path inputs, outputs;  ///< files of tensors by name; inputs empty: none
};

struct EvaluateOptions : ScriptOptions {
  static constexpr bool kHasRanks = true;
  std::filesystem::path data;           ///< rows to evaluate on, all of them; empty: those that the script holds out
  std::optional<std::int64_t> batches;  ///< stands above the script's; 0: the whole held-out part
  bool json = false;
};

struct PredictOptions : ScriptOptions {
  static constexpr bool kHasRanks = true;
  std::filesystem::path data, out;
  std::string format;  ///< "csv" or "jsonl"; empty: by the ending of `out`
};

struct GenerateOptions : ScriptOptions {
  std::string prompt;
  std::int64_t tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest token
  std::int64_t top_k = 0;    ///< as baleen::GenerateOptions has the next three
  double top_p = 1;
  std::string stop;
};

struct GraphOptions : ScriptOptions {
  std::string graph = "train";  ///< "train", "evaluate", "initialize" or a program's name
  bool ops = false;             ///< one by one, instead of the table of layers
  bool dot = false;             ///< Graphviz instead of text
  PassView passes;
};

struct PlanOptions : ScriptOptions {
  std::vector<std::filesystem::path> manifests;  ///< to be compared; empty: that of the setup alone
  SetupSources sources;                          ///< of the setups for them, but for the manifest
  bool exact = false;                            ///< ranks of different roles in calls are classes of their own
  std::optional<double> measure_seconds;         ///< of the offload backend
  bool json = false;
};

struct BenchOptions : RankOptions {
  static constexpr bool kHasRanks = true;
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

struct ValidateOptions {
  std::filesystem::path file;     ///< of the plugin
  std::vector<std::string> sets;  ///< its options: "name=value"
  std::vector<std::string> only;  ///< names of cases; empty: all
  double limit = 10;              ///< seconds for each case
  bool json = false;
  // Of a rank that the launcher under test has started, which is this program.
  std::string launch_rank, launch_folder, launch_word;
};

struct NewOptions {
  std::string kind, name;
  bool in_c = false;
};

struct SecretOptions {
  std::filesystem::path file;
};

struct CheckpointOptions {
  enum class Verb { inspect, verify, export_model, import_model, convert };
  Verb verb = Verb::inspect;
  std::filesystem::path path;    ///< a checkpoint, a folder of some (the latest), a file, or another framework's folder
  std::filesystem::path output;  ///< of the last three: a file, or a new folder
  bool all = false;              ///< optimizer states too
  bool json = false;
  std::filesystem::path config;     ///< a config.json or its folder; empty: that of `path`
  std::filesystem::path map;        ///< a Lua file; empty: by the config
  std::string head;                 ///< empty: by the config
  std::string dtype;                ///< empty: as they are
  std::uint64_t max_file = 0;       ///< bytes of a file in a folder; 0: 2 GiB
  std::int64_t vocab_multiple = 0;  ///< of import_model; 0: not padded
};

struct TokenizerOptions {
  std::string what;                ///< "train", "encode", "decode", "kinds"
  std::vector<std::string> words;  ///< what to train on, encode or decode
  std::string kind, plugin;        ///< plugin empty: the first that makes tokenizers
  std::int64_t vocabulary = 0;
  std::filesystem::path out, tokenizer;
  std::vector<std::string> options;  ///< of the kind: "name=value"
  bool framed = false, whole = false, shows = false;
};

int run_command(const RunOptions& options, const Setup& setup);
int verify_command(const VerifyOptions& options, const Setup& setup);
int infer_command(const InferOptions& options, const Setup& setup);
int evaluate_command(const EvaluateOptions& options, const Setup& setup);
int predict_command(const PredictOptions& options, const Setup& setup);
int generate_command(const GenerateOptions& options, const Setup& setup);
int graph_command(const GraphOptions& options, const Setup& setup);
int plan_command(const PlanOptions& options, const Setup& setup);
int bench_command(const BenchOptions& options, const Setup& setup);
int plugins_command(const PluginsOptions& options, const Setup& setup);
int new_command(const NewOptions& options, const Setup& setup);
int validate_command(const ValidateOptions& options, const Setup& setup);
int doctor_command(const Setup& setup);
int checkpoint_command(const CheckpointOptions& options, const Setup& setup);
/// The verbs of `checkpoint` that write: export, import, convert.
Status exchange(const CheckpointOptions& options, const Setup& setup);
int tokenizer_command(const TokenizerOptions& options, const Setup& setup);
int secret_command(const SecretOptions& options, const Setup& setup);

}  // namespace baleen::app
