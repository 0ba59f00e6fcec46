/// \file The passes that compile.cpp runs one after the other, from a scheduled graph to instructions.
#pragma once
#include <map>
#include <optional>

#include "compiler/codegen/kernel_store.hpp"
#include "compiler/codegen/lowered.hpp"
#include "compiler/codegen/memory.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Sections of ops without views, with the shapes of the rank at `at` (its coordinates on the mesh, `micro` left out);
/// what the device does not support is expanded into what it does.
Result<Lowered> lower(const ScheduledGraph& scheduled, const Target& target, const PersistentLayout& persistent,
                      const Coordinates& at);

/// Takes over the order of micro-batches that strategies want for this rank. What it receives for another chunk of the
/// model is then received there; calls are still prepared in the order of the ops. With `ahead`, what an action
/// receives is asked for before the action in front of it.
Status apply_pipeline_schedule(const ScheduledGraph& scheduled, Lowered& lowered, bool ahead);

/// Gives every value its view and storage: shape ops become views or copies, parts of a concat lie in its result, every
/// assigned value and every output gets a contiguous storage of its own.
Status place(Lowered& lowered, const PersistentLayout& persistent);

/// Ops that one kernel computes. Stands where its last op stands.
struct Region {
  std::vector<LowOp> ops;
  std::vector<LowValue> interior;  ///< produced and consumed inside
};
/// By last op. Contractions with their pointwise consumer, reductions with their pointwise producers, contractions with
/// a reduction of what they read, ops of several results with the pointwise consumer of the first, where the device
/// supports that; else single ops.
using Regions = std::map<LowOp, Region>;
Regions form_regions(const Lowered& lowered, const KernelStore& kernels);

/// One launch of a kernel with the values that its tensors are (kNone inside the region).
struct Launch {
  Guard guard = Guard::always;
  std::uint32_t kernel = 0;
  std::vector<LowValue> operands;
  bool beside = false;  ///< by the host's cores beside the device; the kernel's number is among theirs
};

/// One position in the order of execution: a region, with the accumulation of its results over micro-batches; or the
/// start of a call of the transport; or the wait for one.
struct ProgramStep {
  OpId op = kNone;  ///< anchor; a number in Lowered::ops
  std::uint32_t section = 0;
  std::vector<LowValue> reads, writes;
  std::vector<Launch> launches;
  bool in_place = true;               ///< results may take the bytes of inputs that die here
  std::vector<LowValue> zeros;        ///< results to fill with zeros
  std::optional<LoweredCall> call;    ///< begins here
  std::uint32_t wait_for = kNone;     ///< the number of the call that is over here
  std::uint32_t call_number = kNone;  ///< of `call`, in the order of beginning
  Guard guard = Guard::always;        ///< of `call`, `wait_for` and `transfer`
  /// `wait_for` is a send that began in an earlier turn of its section; behind the loop, all that did.
  bool late = false;
  /// A put or get, which begins here or is over here. With `pinned` a copy between a value of the device and its place
  /// there, for an update on the host's cores.
  struct Transfer {
    std::uint32_t number = 0, slot = 0;
    LowValue state = kNone, value = kNone;  ///< whose it is; what is got or put
    bool is_put = false, is_over = false;
    LowValue pinned = kNone;
    std::uint32_t behind = kNone;  ///< the launch beside the device that makes what is copied
  };
  std::optional<Transfer> transfer;
  bool on_host = false;  ///< an update that runs in the memory where what it updates lies
  /// An update on the host's cores beside the device: its launch begins here, or is over here.
  struct Beside {
    std::uint32_t number = 0;
    bool is_over = false;
    std::uint32_t after = kNone;  ///< the copy that began last of those that it waits for
    bool waits_for_stream = false;
    LowValue scratch = kNone;
  };
  std::optional<Beside> beside;
};

/// The kernels of a program: the device's, and those of the host's cores beside it.
struct Kernels {
  const KernelStore& device;
  const KernelStore& host;
  const CompiledKernel& of(const Launch& launch) const { return (launch.beside ? host : device)[launch.kernel]; }
};

/// The collective ops that run as one call each, in the order in which the calls begin.
std::vector<std::vector<LowOp>> order_calls(const Lowered& lowered);

/// Compiles the regions' kernels. Steps in the order of the sections.
Result<std::vector<ProgramStep>> build_steps(Lowered& lowered, const Regions& regions, KernelStore& kernels);

/// Lets assigned values be computed right in their targets where no reader of the old value comes later (moving readers
/// before the write where that is possible); appends copies for the others. Returns the steps in their final order.
Result<std::vector<ProgramStep>> resolve_assigns(Lowered& lowered, std::vector<ProgramStep> steps,
                                                 KernelStore& kernels);

/// Joins calls that are one bucket, lets each begin as soon as its last input is made (or in its place, where a
/// strategy wants that), and appends the steps in which they are over: before the first reader, else at the end (of the
/// loop's turn). What a call makes in a micro-batch is added to its sum right then. All ranks come to the same order.
Result<std::vector<ProgramStep>> schedule_calls(Lowered& lowered, std::vector<ProgramStep> steps);

/// Who runs updates of what is to be updated where it lies, and with which kernels.
struct HostKernels {
  enum class By : std::uint8_t { nobody, device, host } by = By::nobody;
  KernelStore* kernels = nullptr;  ///< the device's, or those of the host's cores beside it
};

/// Adds puts and gets of what lies in an offload store. Values that are first used by one step are of one update.
/// A get begins when the update runs that comes so many before its own as its strategy said, or at the start of the
/// first update's section, and is over before its own. A put begins right behind what makes the new value; it is over
/// before the update after the next. Slots of values that a run makes are numbered from `first_slot` and are
/// `outside`. Elementwise updates may be split, and are then updates of their own (update_pieces.hpp); some run where
/// their states lie (host_updates.hpp), and none of that is got or put.
struct ScheduledTransfers {
  std::vector<ProgramStep> steps;
  std::vector<OutsideSlot> outside;
  HostUpdateReport host_updates;
};
Result<ScheduledTransfers> schedule_transfers(Lowered& lowered, std::vector<ProgramStep> steps, KernelStore& kernels,
                                              const HostKernels& host, std::uint32_t first_slot);

/// The first step of an update that writes parameters or states, behind which a run cannot be undone: the number of
/// steps where there is none. The loss and the gradient's norm are known there; waits for them move before it. Nothing
/// where that cannot be.
std::optional<std::size_t> find_gate(const Lowered& lowered, std::vector<ProgramStep>& steps);

/// When the work storages are live; position of step i is i + 1, 0 is before the first, steps + 1 after the last.
struct Lifetimes {
  struct Item {
    std::uint32_t storage = kNone;  ///< kNone: scratch of a step
    Interval interval;
    int loop = -1;  ///< the loop inside which all of the life lies
  };
  std::vector<Item> items;
  std::vector<Item> pinned;               ///< those of pinned memory
  std::vector<std::uint64_t> scratch_of;  ///< per step: its item's number, or kNone
};
/// Lets results take the bytes of inputs that die, where the kernels allow that, and finds what is live when.
Lifetimes find_lifetimes(Lowered& lowered, const std::vector<ProgramStep>& steps, const Kernels& kernels);

/// Lets what the update gets of an offload store begin to be got sooner, as far as less is live than at the peak, the
/// arena does not grow, and the step is not in a loop nor before what last has to do with the slot. Not beside updates
/// on the host's cores. Keeps the order of all other steps; `lifetimes` and `gate` follow.
void begin_gets_early(const Lowered& lowered, std::vector<ProgramStep>& steps, Lifetimes& lifetimes,
                      std::optional<std::size_t>& gate);

struct AssembleOptions {
  bool poison = false;              ///< every buffer is filled with NaN bytes when its life ends
  bool describes = false;           ///< says what the operands of launches are
  std::optional<std::size_t> gate;  ///< the step before which the update has written nothing
};
/// Lays out the work arena and writes instructions, addresses, ports and the memory report into `executable`.
void assemble(Executable& executable, Lowered& lowered, const std::vector<ProgramStep>& steps,
              const Lifetimes& lifetimes, const Kernels& kernels, const AssembleOptions& options);

/// Writes the pieces of staged calls and the pinned bytes that they need into it.
void stage_calls(Executable& executable, const StagedCollectives& staged);

/// Gives each transfer a place in pinned memory from its beginning to its end.
void stage_transfers(Executable& executable);

/// Spans of calls say which one it is, so that beginnings find their waits, and what this rank sends.
void name_calls(Executable& executable);

}  // namespace baleen
