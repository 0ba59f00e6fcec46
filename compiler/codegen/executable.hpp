/// \file What compilation ends in: instructions, addresses, ports and calls of the transport as plain data, and the
/// compiled kernels. Nothing here runs; the kernel's executor does that, and reports read it without a device.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/staged_call.hpp"
#include "compiler/codegen/view.hpp"
#include "compiler/layout/piece.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Where the persistent buffers lie, in the persistent arena or in slots of an offload store; the same for all
/// programs.
struct PersistentBuffer {
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  PersistentSpec spec;
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t slot = kNoSlot;  ///< of the store; then `offset` has no meaning
  bool is_offloaded() const { return slot != kNoSlot; }
};
struct PersistentLayout {
  std::vector<PersistentBuffer> buffers;
  std::map<std::string, std::size_t> numbers;  ///< in `buffers`, by name
  std::uint64_t bytes = 0;
  std::uint32_t slots = 0;            ///< of the offload store; 0: none is needed
  std::uint64_t offloaded_bytes = 0;  ///< in them, without what a store rounds up

  const PersistentBuffer* find(const std::string& name) const;
};
/// A tensor that the host writes before (inputs, scalars) or reads after (outputs) a run; an offset in the work arena.
struct Port {
  std::string name;
  ValueType type;  ///< what this rank holds, all micro-batches one after the other
  std::uint64_t offset = 0, bytes = 0;
  bool persistent = false;          ///< the offset is in the persistent arena
  std::vector<Range> rows = {};     ///< of dimension 0 of the whole batch, in the order in which they lie here
  std::vector<Ranges> within = {};  ///< the global indices of each other dimension
};

/// In which turns of a loop an instruction runs.
enum class Guard : std::uint8_t { always, first, not_first, last };
inline bool is_due(Guard guard, std::int64_t turn, std::int64_t turns) {
  switch (guard) {
    case Guard::always: return true;
    case Guard::first: return turn == 0;
    case Guard::not_first: return turn != 0;
    case Guard::last: return turn == turns - 1;
  }
  return false;
}

/// What a launch does at least: arithmetic, and bytes of its operands, each once.
struct Work {
  double flops = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::uint32_t kAllOfCall = UINT32_MAX;

/// One thing to do. Addresses are resolved when the program is bound to arenas.
struct Instruction {
  /// transfer, settle: a put or get of the offload store begins, is over. launch_beside, join: a launch on the host's
  /// cores beside the device begins, is over.
  enum class Kind : std::uint8_t {
    launch,
    poison,
    zero,
    begin,
    wait,
    transfer,
    settle,
    launch_beside,
    join
  } kind = Kind::launch;
  Guard guard = Guard::always;
  std::uint32_t kernel = 0;  ///< launch: its number; launch_beside: among `host_kernels`
  std::uint32_t first_address = 0,
                address_count = 0;  ///< in the program's address table; the last is the scratch buffer
  std::uint32_t per_micro = 0;      ///< entries from one micro-batch's addresses to the next's
  std::uint64_t bytes = 0;          ///< poison, zero: from the only address on
  /// begin, wait: which of the program's calls of the transport; transfer, settle: which of its transfers;
  /// launch_beside, join: which of the launches beside the device.
  std::uint32_t call = 0;
  /// wait: for the call of the micro-batch so many before (of none, where there is none); kAllOfCall: for all of them.
  std::uint32_t behind = 0;
  std::uint32_t label = 0;  ///< in the program's table of names, for spans
  Work work;                ///< launch, zero
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
  std::uint64_t values = 0;  ///< inputs and activations where these are most, which may be at another moment

  std::uint64_t total() const { return inputs + activations + scratch; }
};

/// Exact bytes of the work arena by what they are for, at the moment of the peak.
struct MemoryReport {
  std::uint64_t arena_bytes = 0;                                          ///< what will be allocated
  std::uint64_t peak_bytes = 0;                                           ///< the most that is live at once
  std::uint64_t inputs = 0, activations = 0, gradients = 0, scratch = 0;  ///< at the peak
  /// At the peak: compute copies of parameters (in 16 bits), but for those gathered for a while.
  std::uint64_t copies = 0;
  std::uint64_t fetched = 0;  ///< at the peak: buffers of states that an offload store keeps
  /// Gradients that are held until the update, without padding: with micro-batches those that are added up over all of
  /// them, else those that the backward pass leaves. What calls receive meanwhile is not counted, nor what lies
  /// outside.
  std::uint64_t held_gradients = 0;
  WorkingBytes working;  ///< at the moment when this is most, which may be another than the peak
};

/// Where an address of the table comes from; resolved when the program is bound to arenas.
struct AddressSource {
  /// slot: the memory of a slot of the offload store. pinned: that of updates beside the device.
  enum class Arena : std::uint8_t { none, work, persistent, slot, pinned } arena = Arena::none;
  std::uint64_t offset = 0;
  bool is_written = false;  ///< by its launch or zero; calls and transfers say themselves what they write
  /// Of a launch: what lies there, in the program's list of operands. UINT32_MAX: nothing is said of it.
  std::uint32_t operand = UINT32_MAX;
  std::uint32_t slot = UINT32_MAX;  ///< of `slot`: its number
};

/// What an operand of a launch is, for those who look at it between instructions.
struct OperandInfo {
  Text name;
  std::string op;  ///< that makes it, "tanh (pointwise)"; empty: the host, or another program
  Text where;      ///< of that op, "train.lua:12"
  baleen_dtype_t dtype = BALEEN_F32;
  Shape shape;  ///< this rank's, of one micro-batch; no elements where another rank has it
  Strides strides;
};

/// A piece of a call that passes through pinned memory.
struct StagedPart {
  StagedPiece piece;
  std::size_t place = 0;     ///< of a collective: in the ring
  std::uint64_t offset = 0;  ///< of a send or receive: in the memory of their own
};

/// Pinned bytes that a program needs.
struct StagingBytes {
  /// As many pieces are on their way at a time; each has its place in a ring.
  static constexpr std::uint64_t kPlaces = 4;

  std::uint64_t place = 0;  ///< of the ring: the largest piece
  std::uint64_t own = 0;    ///< of sends and receives, which have memory of their own

  std::uint64_t total() const { return kPlaces * place + own; }
  /// For programs with a pipeline schedule.
  void cover(const StagingBytes& other);
};

/// A call of the transport: a collective of numbers in the address table, which are those of the first slot.
struct ExecutableCall : CollectiveOf<std::uint32_t> {
  std::vector<std::string> axes = {};
  std::uint64_t runs = 1;              ///< per run of the program
  std::size_t slots = 1;               ///< micro-batch m has number m % slots
  bool staged = false;                 ///< passes through pinned memory
  std::vector<StagedPart> parts = {};  ///< then, in place of the call itself

  /// The number of a side's address in another slot: the slots' addresses lie one after the other.
  std::uint32_t in_slot(std::uint32_t address, std::size_t slot) const {
    return address + static_cast<std::uint32_t>(2 * slot * entries.size());
  }
};

/// Moves a value between its slot of the offload store and its buffer; or copies between a value of the device and its
/// place in pinned memory, for an update beside the device.
struct ExecutableTransfer {
  static constexpr std::uint32_t kNoSlot = UINT32_MAX;

  std::string name;  ///< of the value
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;  ///< in the slot
  std::uint64_t bytes = 0;
  std::uint32_t address = 0;  ///< its number in the address table
  bool is_put = false;
  std::uint64_t staged = 0;  ///< where it passes through pinned memory: its offset there
  std::uint32_t pinned = 0;  ///< of a copy: the number of the other address
  std::uint32_t behind = 0;  ///< of a copy to the device: the launch that makes what is copied

  bool is_copy() const { return slot == kNoSlot; }
};

/// A launch on the host's cores beside the device.
struct BesideLaunch {
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::uint32_t after = kNone;    ///< the transfer that began last of those that bring what it reads
  bool waits_for_stream = false;  ///< for what the device was given before it
};

/// What runs where it lies in an offload store, and what does not although a strategy wants it.
struct HostUpdateReport {
  std::uint64_t updates = 0;                    ///< steps per run, pieces each for itself
  std::uint64_t in_place_bytes = 0;             ///< of slots that they have
  std::uint64_t copied_out = 0, copied_in = 0;  ///< bytes per run, where they run beside the device
  std::vector<std::string> on_device = {};      ///< names of what the device updates all the same
  std::vector<std::string> beside_inside = {};  ///< of these what only a state that lies in the device keeps there
};

/// A slot of the offload store, as for what each run makes anew.
struct OutsideSlot {
  std::string name;
  std::uint64_t bytes = 0;
  bool is_held_gradient = false;  ///< that the update reads
  bool is_in_place = false;       ///< some program uses the slot's memory
};

/// Compiled for one kind of device and one rank.
struct Executable {
  Mesh mesh;       ///< the graph's, with `micro` where there are micro-batches
  Coordinates at;  ///< this rank's place in it (without `micro`)
  std::int64_t micro_batches = 1;
  /// By number; null where the target compiles nothing. They go back to the target with their last holder.
  std::vector<std::shared_ptr<void>> kernels;
  std::vector<std::shared_ptr<void>> host_kernels;  ///< of the host's cores beside the device, likewise
  std::vector<Segment> segments;
  std::vector<std::string> labels;
  std::vector<AddressSource> sources;
  std::vector<OperandInfo> operands;  ///< of launches, where they are described
  std::vector<Port> inputs, outputs;  ///< inputs: batch inputs and scalars
  /// An instruction of a segment, or the segment's end. Before it no parameter or state has got its new value, and the
  /// loss and the gradient's norm are known.
  struct Gate {
    std::uint32_t segment = 0, instruction = 0;
  };
  std::optional<Gate> gate;  ///< of a program that trains
  std::vector<ExecutableCall> calls;
  std::vector<ExecutableTransfer> transfers;
  std::vector<BesideLaunch> beside;
  std::uint64_t beside_bytes = 0;  ///< pinned bytes that launches beside the device use
  HostUpdateReport host_updates;
  std::vector<OutsideSlot> outside;    ///< its own slots, numbered on from those before
  std::uint64_t transfer_staging = 0;  ///< pinned bytes that transfers pass through; 0: the store reaches the arena
  struct Action {
    std::uint32_t segment = 0;
    std::int64_t micro_batch = 0;
    std::uint32_t label = kNoLabel;  ///< of its span; what only begins has none
  };
  static constexpr std::uint32_t kNoLabel = UINT32_MAX;
  std::vector<Action> actions;  ///< of `pipelined_loop`
  int pipelined_loop = -1;
  /// Where ranks send to each other alone: collectives of the graph per run, the same number on all ranks, whatever
  /// each begins of them; else 0.
  std::int64_t collectives = 0;
  std::vector<std::vector<std::string>> groups;  ///< axes along which some rank talks, in one order on all ranks
  StagingBytes staging;
  bool has_direct = true;  ///< some collectives, of any rank, would work on the tensors themselves
  MemoryReport memory;
  double flops = 0;                ///< of one run, by the kinds' cost rules
  double recomputed_flops = 0;     ///< of them those of forward ops that run again
  std::uint64_t poison_bytes = 0;  ///< of the largest buffer, where lives end with NaN bytes
};

/// Bytes that this rank sends when it runs the call once.
std::uint64_t sent_bytes(const Executable& executable, const ExecutableCall& call);

/// Calls visit(segment, micro_batch, turns) in the order in which an executor runs the segments, until it fails;
/// `turns` are those of the segment's loop, or 1.
template <class Visit>
Status for_each_turn(const Executable& executable, Visit&& visit) {
  const std::vector<Segment>& segments = executable.segments;
  for (std::size_t begin = 0, end = 0; begin < segments.size(); begin = end) {
    const int loop = segments[begin].loop;
    const std::int64_t turns = loop >= 0 ? executable.micro_batches : 1;
    end = begin + 1;
    while (loop >= 0 && end < segments.size() && segments[end].loop == loop) ++end;
    if (loop >= 0 && loop == executable.pipelined_loop) {
      for (const Executable::Action& action : executable.actions)
        BALEEN_TRY(visit(std::size_t{action.segment}, action.micro_batch, turns));
      continue;
    }
    for (std::int64_t micro = 0; micro < turns; ++micro)
      for (std::size_t s = begin; s < end; ++s) BALEEN_TRY(visit(s, micro, turns));
  }
  return {};
}

}  // namespace baleen
