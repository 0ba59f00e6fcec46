/// \file A session's parts, shared by the files that implement it.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "core/runtime/batch_share.hpp"
#include "core/runtime/job_programs.hpp"
#include "core/runtime/output_numbers.hpp"
#include "core/runtime/session.hpp"
#include "core/runtime/session_memory.hpp"
#include "core/runtime/shards.hpp"

namespace baleen {

/// Null where there is none of this name.
inline const Port* find_port(const std::vector<Port>& ports, const std::string& name) {
  for (const Port& port : ports)
    if (port.name == name) return &port;
  return nullptr;
}

/// A batch of held-out rows: `real` from `from` on, then `filler` again and again. It counts `factor` times.
struct HeldOutRows {
  std::int64_t from = 0, real = 0, filler = 0;
  double factor = 1;
};

/// What batches come to, by the name of the loss or metric: sums, and the weights to divide them by.
struct HeldOutSums {
  Facts sums, weights;
  Facts added;  ///< the size of what was added up
};

struct Session::Impl : JobPrograms {
  Device& device;
  Monitors& monitors;
  std::shared_ptr<Dataset> data;
  SessionOptions options;
  baleen_dtype_t coarsest = BALEEN_F32;
  std::map<std::string, Approximated> approximated;
  std::map<std::string, std::uint64_t> planned;
  WorkingBytes working;
  Arena persistent_arena, work_arena;
  PlacedSlots placed;                        ///< of the programs' slots
  std::unique_ptr<OffloadStores> store;      ///< of these; ended before the arenas
  std::unique_ptr<HostCores> cores;          ///< where updates run beside the device; ended before the store
  std::unique_ptr<Staging> staging;          ///< where the transport does not reach the arenas
  std::unique_ptr<ShardGather> gather;       ///< made when it is first needed
  JobProgram* train = nullptr;               ///< that which a step runs; null in a plan without it
  std::map<std::string, BatchShare> shares;  ///< of the programs that read the data, by name
  std::unique_ptr<BatchReader> reader;
  Count steps_done, position;  ///< the second: the row of the train stream that comes next
  Facts last;
  std::optional<std::set<std::string>>
      no_sums;  ///< of what evaluate tells, what is no sum over rows; not known at first
  std::vector<std::int64_t> segment_ns;
  std::vector<SpanRecord> spans;
  OutputNumbers numbers;
  Batch given;                  ///< to the program that runs; the stream may still copy it
  bool is_given = false;        ///< and has not been seen to have done so
  std::vector<double> scalars;  ///< likewise, in the place of each its own bytes
  std::map<std::string, std::uint64_t> schedule_digests;
  std::map<std::string, std::uint64_t> input_digests;
  bool reported_not_finite = false;
  class StateCopy;
  std::unique_ptr<StateCopy> before_step;  ///< of a step whose loss or gradient is not finite, where there is room
  bool was_undone = false;                 ///< the last run of a program that trains; what was before it is finite
  std::int64_t undone_rows = 0;            ///< that it had read
  bool is_whole = true;                    ///< no program that updates parameters was cut short
  bool is_cut_short = false;               ///< the last run was, so that transfers may be under way

  Impl(Device& d, Monitors& m);
  ~Impl();

  Status compile(const Plan& plan);
  Status allocate();
  Status open_stores();
  Status put(const Program& program, const std::string& name, const void* bytes, std::uint64_t size);
  Result<HostTensor> get(const Program& program, const std::string& name);
  Result<double> get_number(const Program& program, const std::string& name);
  /// Reads the next rows and gives them to the program that trains.
  Status load_batch();
  Status put_batch(const Program& program, const BatchShare& share, Batch rows);
  /// Writes this rank's piece of a whole tensor.
  Status put_piece(const Program& program, const NamedType& input, const HostTensor& tensor);
  /// Gives the values of the program's schedules at its step.
  Result<Facts> put_scalars(const JobProgram& program, std::int64_t step);
  /// Those of a program that was cut short, which still have memory.
  void settle_transfers();
  Status run(Program& program, std::uint64_t step, InstructionWatch* watch, std::function<Status()> gate = {});
  Status run(Program& program, std::uint64_t step) { return run(program, step, options.watch); }
  /// At the gate of a step: keeps what there was before it if it has gone wrong.
  Status keep_if_not_finite(const Program& program);
  /// The gate of a program that trains; empty where a step that is not finite does not end the run.
  std::function<Status()> gate_of(const Program& program);
  /// Where numbers of the run of a program that is just over are not finite first, as ": …" for a message; empty:
  /// nobody knows. `put` gives it the inputs of that run again, which is repeated and undone. Collective over all
  /// ranks.
  Result<std::string> find_not_finite(Program& program, std::uint64_t step, const std::function<Status()>& put);
  /// The same of the step that is just over, which does not count where it is undone.
  Result<std::string> repeat_step();
  /// Behind a step that is not finite, by either of the two: what `repeat_step` found.
  Result<std::string> take_back(Session& session);
  Result<std::vector<std::string>> of_all_ranks(const std::string& text);
  Result<Facts> means(const Program& program);
  Status add_held_out(JobProgram& found, const HeldOutRows& read, HeldOutSums& to);
  Result<HeldOutSums> short_batch(JobProgram& found, std::int64_t from, std::int64_t rest, std::int64_t filler);
  Status find_no_sums(JobProgram& found, std::int64_t from, std::int64_t rest, const HeldOutSums& sums);
  Status add_short_batch(Session& session, JobProgram& found, std::int64_t rows, HeldOutSums& to);
  /// What strategies show.
  Status add_facts(Facts& facts);
  Status check_stops(const JobProgram& program, const std::string& when);
  /// Whether a strategy shows a fact of this name.
  bool shows(const std::string& fact) const { return train && find_port(train->program.outputs(), kFactPrefix + fact); }
  /// DAMAGED, or a note at the first time, for what a program that trains came to; `when`: "at step 5".
  Status check_finite(const Program& program, double loss, double gradient_norm, const std::string& when,
                      Session& session, const std::string& where = "");
  void add_times(Facts& facts, double step_ms, double data_ms);
  void add_peaks(std::vector<Fact>& facts) const;
  void tell_spans();
  void tell_step(const Facts& facts);
  Status copy(void* to, const void* from, std::uint64_t bytes);
  /// What this rank stores of a persistent tensor: bytes from `from` on, and all of it, wherever they lie.
  Status read_stored(const PersistentBuffer& buffer, std::uint64_t from, std::span<std::byte> to);
  Status write_stored(const PersistentBuffer& buffer, std::span<const std::byte> from);
  /// The tensor of this name, of which the caller has `bytes` for the whole.
  Result<const PersistentBuffer*> tensor(const std::string& name, std::uint64_t bytes) const;
};

}  // namespace baleen
