/// \file A session: the arenas, the programs, the data and the monitors of one job on one rank.
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/execute/program.hpp"
#include "core/runtime/dataset.hpp"
#include "core/runtime/host_tensor.hpp"
#include "core/runtime/monitors.hpp"
#include "core/runtime/offload_places.hpp"

namespace baleen {

struct Approximated;

struct SessionOptions {
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::uint64_t seed = 0;
  baleen_dtype_t dtype = BALEEN_F32;
  std::vector<Fact> start_facts;         ///< what the START record says beside the session's own facts
  Communicator* communicator = nullptr;  ///< with several ranks; borrowed, outlives the session
  std::int64_t local_ranks = 1;          ///< that share this host's memory
  /// Bytes of the host's memory that were available before any rank took its own.
  std::uint64_t host_memory = std::numeric_limits<std::uint64_t>::max();
  std::string where_too_little = {};             ///< what helps where memory is too little; "": `baleen plan` tells
  std::optional<MemoryBudget> memory = {};       ///< a bound on what a rank has on its device
  std::optional<MemoryBudget> activations = {};  ///< a bound on what is held beside model states
  std::optional<MemoryBudget> pinned = {};       ///< a bound on what collectives pin of the host's memory
  /// Training goes on, with a note, after a step whose loss or gradient is NaN or infinite. Else it ends there.
  bool goes_on_not_finite = false;
  std::optional<MemoryBudget> offloaded = {};     ///< a bound on what states take outside the device, in all places
  std::vector<OffloadPlace> offload_places = {};  ///< nearest first, with what `open_store` makes
  bool store_maps = false;                        ///< slots of all of them lie in the host's memory
  /// A device that works on the host's memory, for updates that the plan wants there beside a device that does not;
  /// borrowed, outlives the session.
  const Device* host_device = nullptr;
  /// Opens the store of a place; asked only where the plan keeps something there.
  std::function<Result<std::unique_ptr<OffloadStore>>(std::size_t place, const OffloadStore::Needs&)> open_store = {};
  /// Told what a step does now: "reading data", "training". Does not wait; the text lives as long as the process.
  std::function<void(const char* phase)> doing = {};
  class InstructionWatch* watch = nullptr;  ///< of all programs' runs; null: nobody; borrowed
  /// Shown the programs before memory is allocated; may refuse them.
  std::function<Status(const std::vector<struct JobProgram>&)> compiled = {};
};

/// Facts by name, as monitors and `on_step` see them: "loss", "gradient_norm", "lr", "units_per_second", "step_ms", …
using Facts = std::map<std::string, double>;

/// What `baleen run` drives, mostly through the Lua training loop. [one thread]
class Session {
 public:
  /// Compiles the programs, refuses a plan that does not fit into the device or the budget (BALEEN_NO_MEMORY, with the
  /// bytes by kind and what would help) before anything is allocated, allocates, and runs the initialize program.
  /// `data` is null for a job of programs alone. Borrowed: `device` and `monitors` outlive the session.
  static Result<std::unique_ptr<Session>> create(const Plan& plan, Device& device, std::shared_ptr<Dataset> data,
                                                 Monitors& monitors, SessionOptions options);
  ~Session();

  /// Tells the monitors that the run begins.
  void start();
  /// By schedule ("lr", of program `p` "p.lr"), a digest of the values that training has had of it: the same on ranks.
  const std::map<std::string, std::uint64_t>& schedule_digests() const;
  /// By program that `run` has run, a digest of all inputs that it was given: ranks that run one job have the same.
  const std::map<std::string, std::uint64_t>& input_digests() const;
  /// One training step: the next batch, the schedules' values, the program. Facts have "step", the steps done.
  /// DAMAGED where the loss or the gradient's norm is no finite number and no strategy leaves such steps out: the
  /// message says where numbers were not finite first, and the step is undone (`was_undone`), where the host has memory
  /// for the parameters and states of before.
  Result<Facts> step();
  /// Mean held-out loss and metrics over at most `batches` batches (0: the whole held-out part), told as EVALUATE. Rows
  /// that fill no batch count as others do, where losses and metrics are sums over rows (docs/design.md, section 11).
  Result<Facts> evaluate(std::int64_t batches);
  /// The programs that `run` runs.
  std::vector<ProgramInfo> programs() const;
  /// Runs a named program: all its inputs by name in, all its outputs by name out. With several ranks all of them call
  /// it with the same inputs, and all get the outputs. One that learns updates parameters, and its schedules count its
  /// own runs. INVALID where name, inputs, dtypes or shapes are not the program's.
  Result<HostTensors> run(const std::string& name, const HostTensors& inputs);
  void note(const std::string& message);
  /// Shows a line of the script's among what monitors show; false where none of them does (Monitors::print).
  bool print(std::string_view line);
  /// Tells the monitors the closing summary, `more` at its end.
  void finish(std::vector<Fact> more = {});

  /// False where a program failed on its way: parameters and states may be of before and after it.
  bool is_whole() const;
  /// True where the last step was not finite and was taken back: parameters and states are finite, and those of the
  /// step before. Of late updates: where it was not finite and parameters are, which it has updated with the gradients
  /// of the step before.
  bool was_undone() const;
  std::int64_t steps() const;
  std::int64_t steps_done() const;
  /// Of what memory has lost a bit, among the numbers that a training goes by: its steps, its place in the data, the
  /// runs of programs that learn; for messages. Empty: of none.
  std::string damaged_count() const;
  /// How far it is: steps, and in a job of programs alone their runs.
  std::int64_t progress() const;
  /// How often parameters and states were updated: the steps, and the runs of programs that learn.
  std::int64_t updates() const;
  /// False in a job of programs alone.
  bool trains() const;
  std::uint64_t seed() const;
  /// The row of the train stream after the last one trained on: the data's cursor.
  std::int64_t position() const;
  const std::shared_ptr<Dataset>& data() const;
  /// The floating dtype of fewest digits that a training step computes in.
  baleen_dtype_t coarsest_dtype() const;
  /// The plan's.
  const std::map<std::string, Approximated>& approximated() const;
  /// Whether a step makes the update of the step before.
  bool is_late() const;

  /// Persistent tensors by name, to and from host memory (the whole, row-major, dtype as in the plan). With several
  /// ranks all of them call it, for the same tensors in the same order.
  const PersistentLayout& persistent() const;
  Status read_tensor(const std::string& name, void* data, std::uint64_t bytes);
  Status write_tensor(const std::string& name, const void* data, std::uint64_t bytes);
  /// A parameter of which some rank stores a number that is not finite, the same on all ranks; "": there is none.
  /// Collective over all ranks.
  Result<std::string> damaged_parameter();
  /// What this rank alone stores of it, row-major in its piece. Any rank may call it at any time.
  Result<std::vector<std::byte>> read_own(const std::string& name);
  /// Bytes of that piece from `from` on, as many as the span has: to the host, and back to the device.
  Status read_own(const PersistentBuffer& buffer, std::uint64_t from, std::span<std::byte> to);
  Status write_own(const PersistentBuffer& buffer, std::span<const std::byte> from);
  /// Where that piece lies, in host memory that a watch may read between instructions; null where it does not.
  const std::byte* own_memory(const PersistentBuffer& buffer) const;
  /// Where a slot lies that updates beside the device, and nothing else that runs, write in place; else null.
  const std::byte* beside_memory(const PersistentBuffer& buffer) const;
  /// Training goes on after that step, at that row of the train stream; programs that learn were run so often. Before
  /// the first step.
  Status resume(std::int64_t steps_done, std::int64_t position, const std::map<std::string, std::int64_t>& runs);
  /// How often each program that learns was run.
  std::map<std::string, std::int64_t> runs() const;
  /// The same for parameters alone, checked: INVALID for a name or a shape that is not the model's. Another floating
  /// dtype is converted when it is written.
  Result<HostTensor> read_parameter(const std::string& name);
  Status write_parameter(const std::string& name, HostTensor tensor);

  /// Planned bytes: "parameters", "optimizer", "control", "inputs", "activations", "gradients", "scratch", "device",
  /// and "total", which is exactly what is allocated on the device; where collectives are staged also "pinned", the
  /// host's memory that they pass through, and where states lie in offload stores "offloaded", the bytes of their
  /// slots ("offloaded.NAME" of each where there are several), and "pinned_states", what these pass through, or
  /// "pinned_updates", what updates on the host's cores exchange with the device in; none is part of the total.
  const std::map<std::string, std::uint64_t>& planned_bytes() const;
  /// What is held at once beside model states (session_memory).
  const WorkingBytes& working() const;
  /// Bytes of the arenas.
  std::uint64_t allocated_bytes() const;
  /// What one training step sends, by kind and mesh axes.
  std::vector<Traffic> traffic() const;
  /// What one training step moves of states that lie in an offload store.
  OffloadTraffic offload_traffic() const;
  /// What of its update runs where states lie, and what does not; why not, where that is no matter of the update.
  const HostUpdateReport& host_updates() const;
  const std::string& why_on_device() const;
  bool updates_beside() const;  ///< on the host's cores, beside a device with memory of its own

 private:
  Session();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace baleen
