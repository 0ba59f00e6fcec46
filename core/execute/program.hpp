/// \file A compiled program on a device: addresses, calls of the transport, and running it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baleen/blockwise.h"
#include "compiler/codegen/compile.hpp"
#include "core/execute/communicator.hpp"
#include "core/execute/device.hpp"
#include "core/execute/host_cores.hpp"
#include "core/execute/offload_stores.hpp"
#include "core/execute/staging.hpp"
#include "core/execute/traffic.hpp"

namespace baleen {

struct ProgramImpl;
class BlockLaunches;

/// Sees the instructions of some segments, on a device that does each at once. [the thread that runs]
class InstructionWatch {
 public:
  virtual ~InstructionWatch() = default;
  /// A step begins, and has looked at nothing yet; a failure ends the run.
  virtual Status begins_step() { return {}; }
  /// `launches`: null where the device tells of no blocks.
  virtual bool sees(const Executable& executable, std::size_t segment, const BlockLaunches* launches) = 0;
  virtual Status before(const Instruction& instruction) = 0;  ///< a failure ends the run
  virtual Status after(const Instruction& instruction) = 0;   ///< likewise
  /// Told the addresses of a launch, which are those of the executable's sources from `first` on, before it and when
  /// the stream has come behind it. False: of no launch.
  virtual bool wants_launches() const { return false; }
  virtual Status before_launch(const Executable&, const Instruction&, std::uint32_t, void* const*) { return {}; }
  virtual Status after_launch(const Executable&, const Instruction&, std::uint32_t, void* const*) { return {}; }
  /// Told of a launch's blocks, whose kernel tells of them; null: nobody.
  virtual const baleen_block_watch_t* blocks(const Instruction&) { return nullptr; }
  virtual void wrote(const PersistentBuffer&) {}  ///< the host has, between runs
  /// Who sees launches on the host's cores beside the device; null: nobody.
  virtual class HostLaunchWatch* host_launches() { return nullptr; }
};

/// Owns its kernels. Several programs share one work arena (they never run at once) and one persistent arena.
class Program {
 public:
  /// What `compile` (compiler/codegen) makes for the device, ready to be bound. The device must outlive the program.
  /// `host`: runs updates where their states lie (CompileOptions::host); may be the device itself, and outlives it too.
  static Result<Program> compile(const ScheduledGraph& scheduled, Device& device, const PersistentLayout& persistent,
                                 CompileOptions options = {}, const Device* host = nullptr);
  /// Of an executable that was compiled for this device.
  Program(Executable executable, Device& device);

  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();  ///< settles

  /// Where a failed run has left calls unfinished: ends them, so that its memory may go. The communicator is of no use
  /// afterwards.
  void settle();
  /// Where a failed run has left transfers under way: waits for them, so that what runs next has its memory, and the
  /// stores, for itself.
  void settle_transfers();

  const Executable& executable() const;
  const MemoryReport& memory() const { return executable().memory; }
  const std::vector<Port>& inputs() const { return executable().inputs; }  ///< batch inputs and scalars
  const std::vector<Port>& outputs() const { return executable().outputs; }
  const std::vector<Segment>& segments() const { return executable().segments; }
  double flops() const { return executable().flops; }  ///< of one run, by the kinds' cost rules

  /// Fixes all addresses. Both arenas must outlive the program's runs, and so must the store, which a program with
  /// offloaded states needs; its slots are those of the layout that the program was compiled for. `cores`: what a
  /// program needs that has updates beside the device.
  void bind(void* persistent_arena, void* work_arena, OffloadStores* store = nullptr, HostCores* cores = nullptr);
  /// Whether it calls a transport.
  bool communicates() const { return !executable().groups.empty(); }
  /// Whether the transport itself may touch the work arena, on some rank.
  bool shares_work() const { return communicates() && executable().has_direct; }
  /// Whether it touches the persistent arena, on this rank.
  bool shares_persistent() const;
  /// Whether calls of it pass through pinned memory.
  bool stages() const;
  /// Pinned bytes that its staged calls need.
  const StagingBytes& staging() const { return executable().staging; }
  /// Prepares its calls: collective over the ranks, in the same order of programs on each. Once, after `bind`; the
  /// communicator must outlive the program's runs, and so must `staging`, which a program needs that has staged calls.
  /// A program that does not communicate needs neither. `name` is the program's, for messages.
  Status connect(Communicator& communicator, const std::string& name, Staging* staging = nullptr);
  /// Per run, by kind and axes.
  std::vector<Traffic> traffic() const { return traffic_of(executable()); }
  /// Bytes of states per run to and from the offload store.
  OffloadTraffic offload_traffic() const { return offload_traffic_of(executable()); }
  /// The address of a port, once bound.
  void* address(const Port& port) const;

  struct RunOptions {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    /// A span per launch ("compute"), beginning of a call ("begin") and wait for one ("wait"), and per action of a
    /// pipeline schedule one around all of its ("pass"), is appended where it is not null. Launches are then waited for
    /// one by one.
    std::vector<struct SpanRecord>* spans = nullptr;
    /// Nanoseconds spent per segment are added here by segment number where it is not null (as many as segments). By
    /// the device's stamps where it has them, else the host waits behind each.
    std::vector<std::int64_t>* segment_ns = nullptr;
    InstructionWatch* watch = nullptr;  ///< null: nobody
    /// Called at the executable's gate, when the stream has come there and all that it waited for is right; a failure
    /// ends the run. Where it was not called, nothing is updated.
    std::function<Status()> gate = {};
    /// Called where the host is about to wait, at the gate and at the end; what it enqueues is there afterwards.
    std::function<Status()> before_wait = {};
  };
  /// Runs the schedule on the stream and waits. [one thread]
  Status run(void* stream, const RunOptions& options);

 private:
  Status make_stamps();  ///< at the first run whose segments are timed
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
