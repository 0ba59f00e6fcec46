/// \file A session: the arenas, the programs, the data and the monitors of one job on one rank.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/program/program.hpp"

namespace baleen {

/// A data set made by a data plugin.
class Dataset;

struct StepResult {
  std::int64_t step = 0;  ///< steps done, this one included
  std::map<std::string, double> facts;  ///< "loss", "gradient_norm", "lr", "units_per_second", "step_ms", … as monitors see
};

struct SessionOptions {
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  std::string script;              ///< for the START record
  std::string data_folder;
};

/// What `baleen run` drives, mostly through the Lua training loop. [one thread]
class Session {
 public:
  /// Compiles the programs, refuses a plan that does not fit (BALEEN_NO_MEMORY, with the bytes by kind and what would help), allocates, and runs
  /// the initialize program.
  static Result<std::unique_ptr<Session>> create(Plan plan, std::int64_t batch, std::unique_ptr<Device> device,
                                                 std::shared_ptr<Dataset> data, const SessionOptions& options);
  ~Session();

  /// One training step: reads the next batch, evaluates the schedules, runs, reports to the monitors.
  Result<StepResult> step();
  /// Mean held-out loss and metrics over `batches` batches (0: the whole held-out part).
  Result<std::map<std::string, double>> evaluate(std::int64_t batches);
  /// Logits [context, vocabulary] of the generate program for `tokens` (padded to the context by the caller).
  Result<std::vector<float>> logits(const std::vector<std::int32_t>& tokens);

  std::int64_t steps_done() const;

  /// Persistent tensors by name, to and from host memory (row-major, dtype as in the plan).
  const PersistentLayout& persistent() const;
  Status read_tensor(const std::string& name, void* data, std::uint64_t bytes);
  Status write_tensor(const std::string& name, const void* data, std::uint64_t bytes);

  /// Planned bytes: persistent by category, work arena, the device's own.
  std::map<std::string, std::uint64_t> planned_bytes() const;

 private:
  Session();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen
