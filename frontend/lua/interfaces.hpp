/// \file What a script needs from the run around it: its data and, while it trains, the run itself. The application
/// implements both; no dependence on the runtime.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/data.h"
#include "baleen/result.hpp"
#include "compiler/plan/job.hpp"

namespace baleen {

/// A data set that a script opened.
class ScriptData {
 public:
  virtual ~ScriptData() = default;
  virtual const baleen_dataset_info_t& info() const = 0;
  /// Of a field of lists: the name of the field with their lengths; else "".
  virtual std::string length_of(std::uint32_t field) const = 0;
  /// Text to ids and back; UNSUPPORTED where the data is no text.
  virtual Result<std::vector<std::int32_t>> encode(std::string_view text) const = 0;
  virtual Result<std::string> decode(std::span<const std::int32_t> ids) const = 0;
};

/// Opens the member of the data family that `spec` names. Called while the script runs; again with another seed where
/// the job turns out to have one.
using DataFactory = std::function<Result<std::shared_ptr<ScriptData>>(const MemberSpec& spec, std::uint64_t seed)>;

/// A tensor as scripts see it: numbers, row-major.
struct NumberArray {
  Shape shape;
  std::vector<double> values;
};

/// What the training loop drives. [one thread]
class TrainingRun {
 public:
  using Facts = std::map<std::string, double>;
  using Inputs = std::map<std::string, std::vector<double>>;
  using Outputs = std::map<std::string, NumberArray>;

  virtual ~TrainingRun() = default;
  /// One step; its facts ("loss", "gradient_norm", "lr", …).
  virtual Result<Facts> step() = 0;
  /// Means over held-out data; 0 batches: all of it.
  virtual Result<Facts> evaluate(std::int64_t batches) = 0;
  virtual std::int64_t steps_done() const = 0;
  virtual std::vector<ProgramInfo> programs() const = 0;
  /// Runs a program: all its inputs, row-major, by name; its outputs by name.
  virtual Result<Outputs> run(const std::string& program, const Inputs& inputs) = 0;
  /// Writes all parameters to a file.
  virtual Status save(const std::string& path) = 0;
  /// Saves the whole run now, where it saves checkpoints.
  virtual Status checkpoint() = 0;
  /// Shows a line that the script prints in its place among what the run shows of itself; false where the run shows
  /// nothing, or not this.
  virtual bool print(std::string_view) { return false; }
};

}  // namespace baleen
