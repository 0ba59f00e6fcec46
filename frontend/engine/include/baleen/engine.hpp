/// \file Baleen inside another program: an engine finds plugins, a job is a script on a cluster, a session trains it
/// and runs its programs. The one header of the library `baleen_engine` (CMake: `baleen::engine`).
///
/// Functions that can fail return a `Result` or a `Status` (baleen/result.hpp) with a code and a text. No exception
/// leaves the library. Objects are movable, and every object keeps alive what it was made from.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::engine {

struct EngineOptions {
  /// Folders of plugins, and single ones, sought before those that are installed beside the library.
  std::vector<std::filesystem::path> plugin_paths;
  /// Gets lines of the log of `log_level` and above, on the thread that writes them. None: nothing is shown.
  std::function<void(baleen_level_t level, std::string_view line)> log;
  baleen_level_t log_level = BALEEN_INFO;
};

struct JobOptions {
  std::filesystem::path script;                      ///< a Lua file that returns a job
  std::vector<std::string> arguments;                ///< of the script: {"--layers", "4"}
  std::filesystem::path manifest;                    ///< the cluster (TOML); empty: one rank, here
  std::vector<std::string> settings;                 ///< "KEY=VALUE" over the manifest, as in "compute.threads=2"
  std::optional<std::uint64_t> seed;                 ///< instead of the script's
  std::optional<std::int64_t> steps;                 ///< instead of the script's
  std::optional<baleen_dtype_t> dtype;               ///< BALEEN_F32 (which is the default) or BALEEN_F64
  std::function<void(std::string_view line)> print;  ///< gets what the script prints. None: nothing is shown
};

/// Name and type of a whole tensor.
struct TensorInfo {
  std::string name;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
};

/// A program of the job that is run by name.
struct ProgramInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
};

/// A tensor in host memory, row-major.
struct Tensor {
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};
using Tensors = std::map<std::string, Tensor>;

/// Numbers by name: "step", "loss", "gradient_norm", "lr", "step_ms", …
using Facts = std::map<std::string, double>;

/// What each rank would hold and send.
struct PlanReport {
  bool fits = false;    ///< into the memory of every rank, and the manifest's budgets
  std::string refusal;  ///< why it does not, and what would help
  std::string text;     ///< a table for people
  std::string json;     ///< the same as one object
};

/// A job on this rank: programs, parameters, the optimizer's states and the data's cursor. [one thread]
/// With several ranks every member that can fail is collective: all ranks call the same ones in the same order, with
/// the same arguments.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  ///< closes; a rank of several has not completed its work then

  std::int64_t steps_done() const;
  /// One training step on the next batch of the job's data.
  Result<Facts> step();
  /// Means over held-out data, of at most `batches` batches; 0: all of them.
  Result<Facts> evaluate(std::int64_t batches = 0);
  /// Runs the job's training loop to its end: the script's own, or the library's.
  Status train();

  /// Runs a program: all its inputs by name in, all its outputs by name out. Floating inputs are converted.
  Result<Tensors> run(const std::string& program, const Tensors& inputs);

  std::vector<TensorInfo> parameters() const;
  Result<Tensor> read(const std::string& parameter);
  /// Floating tensors are converted. Training goes on from these numbers; the optimizer keeps its states.
  Status write(const std::string& parameter, const Tensor& tensor);

  /// All parameters to and from a file, by the plugin that the file's ending chooses. `load` takes a checkpoint's
  /// folder too, and a folder of Hugging Face's transformers (frontend/exchange).
  Status save(const std::filesystem::path& file);
  Status load(const std::filesystem::path& file);
  /// Saves the whole state now. Where the script or the manifest asks for checkpoints `step` and `evaluate` also do so
  /// when one is due, and `close` at the end; INVALID where none does.
  Status checkpoint();

  /// Tells the monitors the closing summary, and frees all memory. Other functions fail from now on. With several
  /// ranks: this rank's work is complete; a process that ends before has failed, and the others are told.
  Status close();

 private:
  friend class Job;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct SessionOptions {
  /// Whether the manifest's monitors, and the one that a terminal gets, are told of the run.
  bool monitors = false;
  /// False: the job's programs alone. Nothing is held for training (no states of the optimizer, no gradients), and
  /// `step`, `evaluate` and `train` fail, as does `run` of a program that learns.
  bool trains = true;
  /// Where to go on from: a checkpoint's folder, "latest" of the job's own, or "auto": the latest, or the start where
  /// there is none yet. Empty: the start.
  std::string resume = {};
};

/// A script that has described its graphs, and the plugins that serve it. [one thread]
class Job {
 public:
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  std::int64_t steps() const;  ///< that its training loop makes
  std::int64_t batch() const;  ///< rows in a step, on all ranks together
  std::uint64_t seed() const;
  std::vector<ProgramInfo> programs() const;
  std::vector<TensorInfo> parameters() const;

  /// Compiles for the ranks of the manifest and counts. Allocates nothing for the job.
  Result<PlanReport> plan() const;
  /// Compiles for this rank, refuses what does not fit (BALEEN_NO_MEMORY), allocates, and gives parameters their first
  /// values. Sessions of one job share nothing. With several ranks a job has one session, of the rank that this process
  /// is; UNSUPPORTED where it is none of them.
  Result<Session> start(SessionOptions options = {}) const;

 private:
  friend class Engine;
  friend class Session;
  struct Impl;
  explicit Job(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

/// Where everything begins. [any thread]
class Engine {
 public:
  /// Finds plugins; opens none. Fails for a place that does not exist.
  static Result<Engine> open(EngineOptions options = {});
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;
  ~Engine();

  /// "0.1.0".
  static std::string version();
  /// Names of the plugins of a kind ("optimizer", "compute", …), in order.
  std::vector<std::string> plugins(std::string_view kind) const;

  /// Reads the manifest, opens the plugins that it chooses, runs the script and checks all that it describes. Where the
  /// launcher of a manifest of several ranks says that this process is one of them: collective, it meets the others.
  Result<Job> load(JobOptions options) const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen::engine
