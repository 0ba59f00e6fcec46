/// \file A program: kernels, offsets in one arena, segments and the schedule that calls them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/layout/piece.hpp"
#include "compiler/plan/plan.hpp"
#include "core/program/communicator.hpp"
#include "core/program/device.hpp"
#include "core/program/staging.hpp"

namespace baleen {

/// Where the persistent buffers lie in the persistent arena; the same for all programs.
struct PersistentBuffer {
  PersistentSpec spec;
  std::uint64_t offset = 0, bytes = 0;
};
struct PersistentLayout {
  std::vector<PersistentBuffer> buffers;
  std::map<std::string, std::size_t> numbers;  ///< in `buffers`, by name
  std::uint64_t bytes = 0;

  const PersistentBuffer* find(const std::string& name) const;
};
/// Bytes are those of the rank at `at`.
PersistentLayout lay_out(const std::vector<PersistentSpec>& specs, std::uint64_t alignment, const Mesh& mesh = {},
                         const Coordinates& at = {});

/// Rows first … first + count - 1 of the whole batch.
struct RowRange {
  std::int64_t first = 0, count = 0;
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// A tensor that the host writes before (inputs, scalars) or reads after (outputs) a run; an offset in the work arena.
struct Port {
  std::string name;
  ValueType type;  ///< what this rank holds, all micro-batches one after the other
  std::uint64_t offset = 0, bytes = 0;
  bool persistent = false;          ///< the offset is in the persistent arena
  std::vector<RowRange> rows = {};  ///< of dimension 0, in the order in which they lie here
  std::vector<Runs> within = {};    ///< the global indices of each other dimension
};

enum class Guard : std::uint8_t { always, first, not_first, last };

/// One launch. Addresses are resolved when the program is bound to arenas.
/// What a launch does at least: arithmetic, and bytes of its operands, each once.
struct Work {
  double flops = 0;
  std::uint64_t bytes = 0;
};

struct Instruction {
  enum class Kind : std::uint8_t { launch, poison, zero, begin, wait } kind = Kind::launch;
  Guard guard = Guard::always;
  void* kernel = nullptr;
  std::uint32_t first_address = 0,
                address_count = 0;  ///< in the program's address table; the last is the scratch buffer
  std::uint32_t per_micro = 0;      ///< entries from one micro-batch's addresses to the next's
  std::uint64_t bytes = 0;          ///< poison, zero: from the only address on
  std::uint32_t call = 0;           ///< begin, wait: which of the program's calls of the transport
  std::uint32_t label = 0;          ///< in the program's table of names, for spans
  Work work;                        ///< launch, zero
};

struct Segment {
  std::string name;
  int loop = -1;
  std::vector<Instruction> instructions;
};

/// Bytes of the work arena that are live at one moment, gradients of parameters apart, each buffer rounded up to the
/// device's alignment.
struct WorkingBytes {
  std::uint64_t inputs = 0, activations = 0, scratch = 0;  ///< gathered parameters are activations too

  std::uint64_t total() const { return inputs + activations + scratch; }
};

/// Exact bytes of the work arena by what they are for, at the moment of the peak.
struct MemoryReport {
  std::uint64_t arena_bytes = 0;                                          ///< what will be allocated
  std::uint64_t peak_bytes = 0;                                           ///< the most that is live at once
  std::uint64_t inputs = 0, activations = 0, gradients = 0, scratch = 0;  ///< at the peak
  std::uint64_t copies = 0;  ///< at the peak: forms of parameters (in 16 bits), but for those gathered for a while
  /// Gradients that are held until the update, without padding: with micro-batches those that are added up over all of
  /// them, else those that the backward pass leaves. What calls receive meanwhile is not counted.
  std::uint64_t held_gradients = 0;
  WorkingBytes working;  ///< at the moment when this is most, which may be another than the peak
};

/// What a program sends per run, of one kind along one set of axes.
struct Traffic {
  std::string kind, axes;              ///< "all_reduce", "data"
  std::uint64_t calls = 0, bytes = 0;  ///< bytes that this rank sends
};

struct CompileOptions {
  /// This rank's coordinates on the graph's mesh (without `micro`).
  Coordinates at;
  /// Fills every buffer with NaN bytes when its life ends (and all but the inputs at the start): a run that reads what
  /// it must not shows it. For tests.
  bool poison = false;
  /// Bytes of the pieces in which collectives pass through pinned memory; 0: they work on the tensors themselves.
  std::uint64_t staged_piece_bytes = 0;
};

struct ProgramImpl;

/// Compiled for one device; owns its kernels. Several programs share one work arena (they never run at once) and one
/// persistent arena.
class Program {
 public:
  /// Lowers, forms regions, compiles kernels and lays out memory. Errors: an op the device lacks and that has no
  /// expansion. Device must outlive the program.
  static Result<Program> compile(ScheduledGraph scheduled, Device& device, const PersistentLayout& persistent,
                                 const CompileOptions& options = {});

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();  ///< settles

  /// Where a failed run has left calls unfinished: ends them, so that its memory may go. The communicator is of no use
  /// afterwards.
  void settle();

  const MemoryReport& memory() const;
  const std::vector<Port>& inputs() const;  ///< batch inputs and scalars
  const std::vector<Port>& outputs() const;
  const std::vector<Segment>& segments() const;
  const Graph& graph() const;
  double flops() const;  ///< of one run, by the kinds' cost rules

  /// Fixes all addresses. Both arenas must outlive the program's runs.
  void bind(void* persistent_arena, void* work_arena);
  /// Whether it calls a transport.
  bool communicates() const;
  /// Whether its calls touch the persistent arena; they always may touch the work arena.
  bool shares_persistent() const;
  /// Pinned bytes that its calls need; none where they are not staged.
  const StagingBytes& staging() const;
  /// Prepares its calls: collective over the ranks, in the same order of programs on each. Once, after `bind`; the
  /// communicator must outlive the program's runs, and so must `staging`, which a program needs that was compiled for
  /// it. A program that does not communicate needs neither. `name` is the program's, for messages.
  Status connect(Communicator& communicator, const std::string& name, Staging* staging = nullptr);
  /// Per run, by kind and axes.
  std::vector<Traffic> traffic() const;
  /// The address of a port, once bound.
  void* address(const Port& port) const;

  struct RunOptions {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    /// A span per launch ("compute"), beginning of a call ("begin") and wait for one ("wait") is appended where it is
    /// not null. Launches are then waited for one by one.
    std::vector<struct SpanRecord>* spans = nullptr;
    /// Nanoseconds spent per segment are added here by segment number where it is not null (as many as segments).
    std::vector<std::int64_t>* segment_ns = nullptr;
  };
  /// Runs the schedule on the stream and waits. [one thread]
  Status run(void* stream, const RunOptions& options);

 private:
  explicit Program(std::unique_ptr<ProgramImpl> impl);
  std::unique_ptr<ProgramImpl> impl_;
};

/// An interval of a run; `name` and `category` point into the program (valid as long as it lives).
struct SpanRecord {
  const char* name;
  const char* category;
  std::int64_t begin = 0, end = 0;  ///< std::chrono::steady_clock nanoseconds
  Work work;
};

}  // namespace baleen
