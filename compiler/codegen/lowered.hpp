/// \file What a graph becomes before memory: ops that the device can run, on values with local shapes and views of
/// storages.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "baleen/collective.hpp"
#include "baleen/compute.h"
#include "compiler/codegen/view.hpp"
#include "compiler/graph/graph.hpp"
#include "compiler/layout/mesh.hpp"
#include "compiler/plan/plan.hpp"

namespace baleen {

/// Numbers in a Lowered. An op's `inputs` and `outputs` hold these, not the graph's.
using LowValue = std::uint32_t;
using LowOp = std::uint32_t;

/// How a value lies on the axis `micro`.
struct MicroPlacement {
  int dim = -1;          ///< the dimension that is cut, or -1
  bool partial = false;  ///< a term of a sum over the micro-batches
  bool whole() const { return dim < 0 && !partial; }
  friend bool operator==(const MicroPlacement&, const MicroPlacement&) = default;
};

/// Elements `offset` + micro-batch * `micro_step` + index · `strides` of a storage.
struct View {
  std::uint32_t storage = kNone;
  std::int64_t offset = 0;
  std::int64_t micro_step = 0;
  Strides strides;
};

struct LoweredValue {
  Text name;
  baleen_dtype_t dtype = BALEEN_F32;
  Shape global;   ///< of the whole batch, on all ranks
  Shape shape;    ///< this rank's, of one micro-batch
  Layout layout;  ///< on the graph's mesh; empty: whole
  MicroPlacement micro;
  std::vector<std::vector<baleen_run_t>> runs;  ///< per dimension the global indices of micro-batch 0; empty: all
  bool held = true;     ///< false: another coordinate of an axis has it, and there are no elements here
  bool indexed = true;  ///< `runs` (or the shape) tell the global index of each element
  Role role = Role::activation;
  LowOp producer = kNone;             ///< kNone: a source
  bool is_output = false;             ///< of the program
  std::uint32_t offloaded_ahead = 0;  ///< the graph's
  std::uint64_t offloaded_piece = 0;  ///< likewise
  View view;
};

struct Storage {
  /// offloaded: a buffer in the work arena of a state whose bytes lie in an offload store between its uses.
  /// slot: its bytes in that store, used in place. pinned: a place in the host's memory for an update that runs there.
  enum class Kind { work, input, persistent, offloaded, slot, pinned } kind = Kind::work;
  std::uint64_t bytes = 0;
  Role role = Role::activation;
  Text name;
  /// Persistent: in its arena; pinned: among all of these; others: in the work arena. Once memory is planned.
  std::uint64_t offset = 0;
  std::uint32_t merged_into = kNone;  ///< has the very bytes of that one
  std::int64_t copies = 1;            ///< micro-batch m has number m % copies
  std::uint64_t copy_bytes = 0;       ///< from one copy to the next
  std::uint32_t slot = kNone;         ///< of the offload store, where it lies between its uses
  std::uint64_t slot_offset = 0;      ///< of its first byte there
  std::uint32_t ahead = 0;            ///< with a slot: updates that run while it is got
  std::uint64_t piece_bytes = 0;      ///< with a slot: that an elementwise update has at a time; 0: all
  bool updated_on_host = false;       ///< with a slot: an elementwise update runs there
  bool is_got = false;                ///< before it is used, in each turn of a loop

  /// Whether it has the old value of what is assigned.
  bool is_stored() const { return kind == Kind::persistent || kind == Kind::offloaded || kind == Kind::slot; }
};

/// How an op is carried out.
enum class LoweringKind {
  kernel,
  view,        ///< its result is a view of its input's storage
  join,        ///< concat: its inputs lie in its result's storage
  accumulate,  ///< accumulate_micro
  collective,  ///< by the transport
  empty,       ///< some operand has no elements on this rank: results are sums of nothing
};

/// A call of the transport: a collective of values, kNone where a side has nothing. An op's has one entry, whose sides
/// are set by `build_steps`; the entries of several ops make one bucket.
struct LoweredCall : CollectiveOf<LowValue> {
  std::vector<int> axes;  ///< of the mesh
};

struct LoweredOp {
  Op op;
  LoweringKind means = LoweringKind::kernel;
  std::uint32_t section = 0;
  OpId exchanged = kNone;                ///< of a conversion between layouts: the graph's op
  std::optional<LoweredCall> call = {};  ///< of a collective
  std::optional<std::size_t> turn =
      {};  ///< of a collective that begins elsewhere than other ranks': when to prepare it
};

struct LoweredSection {
  std::string name;
  Phase phase = Phase::forward;
  int loop = -1;
  std::vector<LowOp> ops;  ///< in order
  MicroPart part = {};     ///< of a loop
  bool ahead = false;      ///< receives for the section behind it, which a pipeline schedule begins an action sooner
};

/// The parts of micro-batches in an order of the rank's own: a pipeline schedule.
struct LoweredPipeline {
  int loop = -1;  ///< in which; -1: none
  int axis = -1;  ///< of the mesh, whose coordinates have an order each
  struct Action {
    std::uint32_t section = 0;
    std::int64_t micro_batch = 0;
  };
  std::vector<Action> actions;
  std::int64_t in_flight = 1;  ///< the most micro-batches that have begun and are not over
  std::int64_t slots = 1;      ///< the same of any rank: as many copies has what they exchange

  /// The most micro-batches that have done section `first` and not yet `last`, one of them counted from the beginning
  /// of the one to the end of the other.
  std::int64_t between(std::uint32_t first, std::uint32_t last) const;
};

/// `target`, a parameter or state, becomes `value` when every reader of the old value is done.
struct LoweredAssign {
  LowValue target = kNone, value = kNone;
  std::uint32_t section = 0;
  std::string name;
};

struct Lowered {
  const OpRegistry* registry = nullptr;
  Mesh mesh;       ///< the graph's
  Coordinates at;  ///< this rank's place in it; 0 along `micro`
  std::int64_t micro_batches = 1;
  std::vector<LoweredValue> values;
  std::deque<LoweredOp> ops;
  std::vector<LoweredSection> sections;
  LoweredPipeline pipeline;
  std::vector<std::vector<int>> groups;  ///< axes along which some rank talks, in one order on all ranks
  std::uint64_t alignment = 1;           ///< of offsets
  std::vector<LowValue> sources;         ///< parameters, states, inputs, scalars
  std::vector<LoweredAssign> assigns;
  std::vector<std::pair<std::string, LowValue>> outputs;
  std::vector<Storage> storages;

  /// The storage whose bytes a storage has.
  std::uint32_t root(std::uint32_t storage) const;
  std::uint32_t root_of(LowValue value) const { return root(values[value].view.storage); }
  /// Not what this rank makes for nobody: a sum that only another rank's part is taken of.
  bool has_storage(LowValue value) const { return values[value].view.storage != kNone; }
  const Storage& storage_of(LowValue value) const { return storages[root_of(value)]; }
  /// Whether a value takes up its own storage to the last element, in row-major order.
  bool fills_storage(LowValue value) const;
  /// Whether its elements lie one behind the other in row-major order, wherever they begin.
  bool is_dense(LowValue value) const;

  LowValue add_value(LoweredValue value);
  /// Appends to `ops`, not to a section. Sets the outputs' producer.
  LowOp add_op(Op op, LoweringKind means, std::uint32_t section);
  std::uint32_t add_storage(Storage storage);
  bool in_pipeline(std::uint32_t section) const {
    return pipeline.loop >= 0 && sections[section].loop == pipeline.loop;
  }
  /// On this rank, of one micro-batch.
  std::int64_t elements(LowValue value) const;
  std::uint64_t bytes(LowValue value) const;
  /// The shape of all micro-batches one after the other.
  Shape step_shape(LowValue value) const;

  /// The ops that read a value, in order; once per op.
  std::vector<std::vector<LowOp>> users() const;
  /// A section that runs once and comes last; appended where there is none.
  std::uint32_t closing_section();
};

}  // namespace baleen
