/// \file A user's script: run once, it describes a job; then its training loop drives the run.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan/job.hpp"
#include "frontend/lua/interfaces.hpp"
#include "frontend/lua/model_map.hpp"

namespace baleen {

struct ScriptOptions {
  const OpRegistry* ops = nullptr;     ///< outlives the job's graphs
  std::filesystem::path library;       ///< the folder that holds `baleen/init.lua`
  std::optional<std::uint64_t> seed;   ///< instead of the job's
  baleen_dtype_t dtype = BALEEN_F32;   ///< BALEEN_F32 or BALEEN_F64
  std::vector<std::string> arguments;  ///< what stands after `--` on the command line
  std::optional<std::int64_t> steps;   ///< instead of the job's
  std::string load;                    ///< what parameters will be read from; empty: nothing
  bool generate = false;               ///< the job has the program `generate`, asked for or not
  bool predict = false;                ///< the job has the program `predict`
  DataFactory data;
  std::function<void(std::string_view line)> print;  ///< what the script prints; none: standard output
  /// Of the script's own time, for describing; what the host does for it (opening data) does not count. 0: none.
  std::chrono::milliseconds time_limit{30'000};
  /// Between two calls of the run, a callback or a `loop` that has run for this time is told to `warn`, and again after
  /// twice, four times, … of it; so is a schedule. 0: never.
  std::chrono::milliseconds callback_told{2'000};
  /// After this time such a callback is `stuck`, as after the launcher's patience with a rank. 0: never.
  std::chrono::milliseconds callback_limit{600'000};
  /// Told on another thread: "on_step (train.lua:8) has run for 2.0 s". None: nobody is.
  std::function<void(std::string_view text)> warn;
  /// Called on another thread where nothing can stop the script: it sits in one call of C beyond the limit, or in a
  /// callback. Ends the process. None: it goes on.
  std::function<void(const Error& why)> stuck;
};

struct GenerateOptions {
  std::string prompt;  ///< empty: the job's, or a line's end
  std::int64_t tokens = 200;
  double temperature = 0.8;  ///< 0: always the likeliest
  std::int64_t top_k = 0;    ///< only of so many likeliest tokens; 0: of all
  double top_p = 1;          ///< only of the fewest tokens whose probabilities add up to it
  std::string stop = {};     ///< what follows ends behind this text; empty: none
};

/// Owns the Lua state. Schedules of the job keep that state alive. [one thread]
class Script {
 public:
  /// Runs the file and describes every graph of its job. Errors are INVALID (or what the data's member
  /// said) and begin with file:line of the user's own code; calls that led there follow, a line each.
  static Result<std::unique_ptr<Script>> load(const std::filesystem::path& file, ScriptOptions options);
  /// No script: the library alone, for its maps of models.
  static Result<std::unique_ptr<Script>> library(ScriptOptions options);
  ~Script();

  /// May be moved from.
  Job& job();
  std::int64_t steps() const;
  /// Of an evaluation; 0: the whole held-out part.
  std::int64_t evaluate_batches() const;
  /// What the job asks for and its data has too little of: texts for the user, with the job's place.
  const std::vector<std::string>& doubts() const;
  /// The job's `checkpoint`, unchecked; nothing where it has none.
  const std::optional<UserValues>& checkpoint() const;
  const std::shared_ptr<ScriptData>& data() const;

  /// What the training loop does beside steps, a line each: evaluations, text that it writes, functions of the user's.
  std::string loop_lines() const;
  /// Where functions of the job's run between steps: the user's files that were loaded, without comments and without
  /// what stands between quotes and has a slash, which may be a path of this host's. Else empty.
  std::string text_between_steps() const;
  /// What of the user's own runs between steps, for messages: "in on_step (train.lua:7)"; empty: nothing does.
  std::string between_steps() const;
  /// From here on math.random draws what it draws in each run of the job that has updated parameters so often.
  Status seed_random(std::int64_t updates);
  /// Runs the training loop: the job's own, or the library's `train.lua`.
  Status train(TrainingRun& run);
  /// Which tensors of a folder of another framework are which parameters: by the model that the script made with
  /// `models.load`, else by the folder's own config. Errors name the file, or the line of the user's map.
  Result<ModelMap> model_map(const MapRequest& request);
  /// Whether a folder has such a config at all.
  Result<bool> is_model(const std::string& folder);
  /// Which of its files hold tensors.
  Result<ModelFiles> model_files(const std::string& folder);
  /// How an export of these tensors (name, bytes) is divided into files of at most `limit` bytes, and what goes with
  /// it.
  Result<ExportPlan> plan_export(const MapRequest& request,
                                 const std::vector<std::pair<std::string, std::int64_t>>& tensors, std::int64_t limit,
                                 const std::string& dtype);

  /// The prompt and what the model writes after it.
  Result<std::string> generate(TrainingRun& run, const GenerateOptions& options);

 private:
  struct Impl;
  explicit Script(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen
