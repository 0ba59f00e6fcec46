/// \file From steps and offsets to the executable: instructions, address table, ports, memory report.
#include <algorithm>
#include <set>
#include <utility>

#include "baleen/dtype.hpp"
#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

class Assembler {
 public:
  Assembler(Executable& program, Lowered& lowered, const std::vector<ProgramStep>& steps, const Lifetimes& lifetimes,
            const Kernels& kernels, const AssembleOptions& options)
      : program_(program),
        lowered_(lowered),
        steps_(steps),
        lifetimes_(lifetimes),
        kernels_(kernels),
        options_(options) {}

  void run() {
    for (const CompiledKernel& kernel : kernels_.device.all()) program_.kernels.push_back(kernel.handle);
    for (const CompiledKernel& kernel : kernels_.host.all()) program_.host_kernels.push_back(kernel.handle);
    lay_out();
    report();
    report_working();
    report_held();
    for (const LoweredSection& section : lowered_.sections)
      program_.segments.push_back({section.name, section.loop, {}});
    for (const LoweredPipeline::Action& action : lowered_.pipeline.actions)
      program_.actions.push_back({action.section, action.micro_batch, label(action)});
    program_.pipelined_loop = lowered_.pipeline.loop;
    for (const std::vector<int>& axes : lowered_.groups) {
      auto& names = program_.groups.emplace_back();
      for (const int axis : axes) names.push_back(axis_name(axis));
    }
    if (options_.poison) prepare_poison();
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (options_.gate == s) set_gate(steps_[s].section);
      for (LowValue v : steps_[s].zeros) add_zero(s, v);
      if (steps_[s].call) add_begin(s);
      if (steps_[s].wait_for != kNone) add_wait(s);
      if (steps_[s].transfer) add_transfer(s);
      if (steps_[s].beside && steps_[s].beside->is_over) add_join(s);
      for (const Launch& launch : steps_[s].launches) add_launch(s, launch);
      if (options_.poison) poison_after(s);
    }
    if (options_.gate == steps_.size() && !lowered_.sections.empty())
      set_gate(static_cast<std::uint32_t>(lowered_.sections.size()) - 1);
    add_ports();
  }

 private:
  void set_gate(std::uint32_t section) {
    program_.gate = {section, static_cast<std::uint32_t>(program_.segments[section].instructions.size())};
  }

  const std::string& axis_name(int axis) const { return lowered_.mesh.axes[static_cast<std::size_t>(axis)].name; }

  void lay_out() {
    std::vector<Interval> intervals;
    for (const auto& item : lifetimes_.items) intervals.push_back(item.interval);
    plan_ = plan_memory(intervals, kernels_.device.alignment());
    for (std::size_t i = 0; i < intervals.size(); ++i)
      if (const auto storage = lifetimes_.items[i].storage; storage != kNone)
        lowered_.storages[storage].offset = plan_.offsets[i];
    std::vector<Interval> pinned;
    for (const auto& item : lifetimes_.pinned) pinned.push_back(item.interval);
    if (pinned.empty()) return;
    const MemoryPlan beside = plan_memory(pinned, std::max(kernels_.device.alignment(), kernels_.host.alignment()));
    for (std::size_t i = 0; i < pinned.size(); ++i)
      lowered_.storages[lifetimes_.pinned[i].storage].offset = beside.offsets[i];
    program_.beside_bytes = beside.arena_bytes;
  }

  void report() {
    MemoryReport& memory = program_.memory;
    memory.arena_bytes = plan_.arena_bytes;
    memory.peak_bytes = plan_.peak_bytes;
    const WorkingBytes working = working_at(plan_.peak_position, memory);
    memory.inputs = working.inputs;
    memory.activations = working.activations;
    memory.scratch = working.scratch;
  }

  void report_working() {
    std::vector<Interval> intervals;
    for (const auto& item : lifetimes_.items)
      if (!model_part(item)) intervals.push_back(item.interval);
    MemoryReport others;
    program_.memory.working = working_at(find_peak(intervals, kernels_.device.alignment()).position, others);
    std::vector<Interval> values;
    for (const auto& item : lifetimes_.items)
      if (item.storage != kNone && !model_part(item)) values.push_back(item.interval);
    program_.memory.working.values = find_peak(values, kernels_.device.alignment()).bytes;
  }

  /// What is live at a position; model states are added to those of `memory`.
  WorkingBytes working_at(std::int64_t position, MemoryReport& memory) const {
    WorkingBytes working;
    for (const auto& item : lifetimes_.items) {
      if (item.interval.first > position || item.interval.last < position) continue;
      const auto part = model_part(item);
      std::uint64_t& kind = part                                                           ? memory.*part
                            : item.storage == kNone                                        ? working.scratch
                            : lowered_.storages[item.storage].kind == Storage::Kind::input ? working.inputs
                                                                                           : working.activations;
      kind += align_up(item.interval.bytes, kernels_.device.alignment());
    }
    return working;
  }

  /// As what of the model's states an item is reported; null: it is none. Parameters themselves are persistent, or
  /// fetched from an offload store.
  std::uint64_t MemoryReport::*model_part(const Lifetimes::Item& item) const {
    if (item.storage == kNone) return nullptr;
    const Storage& storage = lowered_.storages[item.storage];
    if (storage.kind == Storage::Kind::offloaded) return &MemoryReport::fetched;
    if (storage.kind == Storage::Kind::input) return nullptr;
    if (storage.role == Role::gradient) return &MemoryReport::gradients;
    return storage.role == Role::parameter ? &MemoryReport::copies : nullptr;
  }

  /// First and last position of the last loop, or where there is none the end of the backward pass; 0 where there is
  /// neither.
  std::pair<std::int64_t, std::int64_t> end_of_backward() const {
    std::int64_t backward = 0;
    std::pair<std::int64_t, std::int64_t> positions;
    int loop = -1;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const LoweredSection& section = lowered_.sections[steps_[s].section];
      const auto position = static_cast<std::int64_t>(s) + 1;
      if (section.phase == Phase::backward) backward = position;
      if (section.loop < 0) continue;
      if (section.loop != loop) positions.first = position;
      loop = section.loop;
      positions.second = position;
    }
    return loop >= 0 ? positions : std::pair(backward, backward);
  }

  /// Storages that, up to position `end`, are written only by calls that start in the last micro-batch. They hold data
  /// that is being received, not gradients of the backward pass.
  std::set<std::uint32_t> received_last(std::int64_t end) const {
    std::set<std::uint32_t> received, computed;
    for (std::size_t s = 0; s < static_cast<std::size_t>(end); ++s) {
      const bool on_its_way = steps_[s].call && steps_[s].guard == Guard::last;
      for (LowValue v : steps_[s].writes) (on_its_way ? received : computed).insert(lowered_.root_of(v));
    }
    for (const std::uint32_t storage : computed) received.erase(storage);
    return received;
  }

  /// With a loop: what lives through all of it, being added to in each turn.
  void report_held() {
    const auto [begin, end] = end_of_backward();
    const std::set<std::uint32_t> received = received_last(end);
    for (const auto& item : lifetimes_.items) {
      if (item.storage == kNone || model_part(item) != &MemoryReport::gradients) continue;
      if (lowered_.storages[item.storage].slot != kNone) continue;  // outside
      const bool lasts = item.interval.last > end || (begin < end && item.interval.last == end);
      if (item.interval.first <= begin && lasts && !received.contains(item.storage))
        program_.memory.held_gradients += item.interval.bytes;
    }
  }

  /// Whether its address depends on the micro-batch.
  bool moves(LowValue v) const {
    return v != kNone && (lowered_.values[v].view.micro_step != 0 || lowered_.storage_of(v).copies > 1);
  }

  /// Offset of a value's first element in its arena; kNone is a null address.
  AddressSource source_of(LowValue number, std::int64_t micro = 0) const {
    if (number == kNone) return {};
    const LoweredValue& value = lowered_.values[number];
    const Storage& storage = lowered_.storage_of(number);
    const std::int64_t element = value.view.offset + micro * value.view.micro_step;
    const std::uint64_t offset = storage.offset +
                                 static_cast<std::uint64_t>(micro % storage.copies) * storage.copy_bytes +
                                 static_cast<std::uint64_t>(element) * dtype_size(value.dtype);
    switch (storage.kind) {
      case Storage::Kind::persistent: return {AddressSource::Arena::persistent, offset};
      case Storage::Kind::pinned: return {AddressSource::Arena::pinned, offset};
      case Storage::Kind::slot: {
        AddressSource source{AddressSource::Arena::slot, offset + storage.slot_offset - storage.offset};
        source.slot = storage.slot;
        return source;
      }
      default: return {AddressSource::Arena::work, offset};
    }
  }

  void add_launch(std::size_t step, const Launch& launch) {
    Instruction instruction;
    instruction.guard = launch.guard;
    instruction.kernel = launch.kernel;
    instruction.work = kernels_.of(launch).work;
    if (launch.beside) add_beside(*steps_[step].beside, instruction);
    instruction.first_address = static_cast<std::uint32_t>(program_.sources.size());
    instruction.address_count = static_cast<std::uint32_t>(launch.operands.size() + 1);
    instruction.label = label(steps_[step]);
    const bool move = std::any_of(launch.operands.begin(), launch.operands.end(), [&](LowValue v) { return moves(v); });
    instruction.per_micro = move ? instruction.address_count : 0;
    const std::int64_t copies = move ? lowered_.micro_batches : 1;
    for (std::int64_t micro = 0; micro < copies; ++micro) add_addresses(step, launch, micro);
    segment(step).push_back(instruction);
  }

  void add_addresses(std::size_t step, const Launch& launch, std::int64_t micro) {
    const std::vector<bool>& writes = kernels_.of(launch).writes;
    for (std::size_t i = 0; i < launch.operands.size(); ++i) {
      program_.sources.push_back(source_of(launch.operands[i], micro));
      program_.sources.back().is_written = writes[i];
      if (options_.describes && launch.operands[i] != kNone)
        program_.sources.back().operand = describe(launch.operands[i]);
    }
    if (launch.beside) {
      program_.sources.push_back(source_of(steps_[step].beside->scratch));
      return;
    }
    const std::uint64_t scratch = lifetimes_.scratch_of[step];
    program_.sources.push_back(scratch == kNone ? AddressSource{}
                                                : AddressSource{AddressSource::Arena::work, plan_.offsets[scratch]});
  }

  void add_beside(const ProgramStep::Beside& beside, Instruction& instruction) {
    instruction.kind = Instruction::Kind::launch_beside;
    instruction.call = beside.number;
    if (program_.beside.size() <= beside.number) program_.beside.resize(beside.number + 1);
    program_.beside[beside.number] = {beside.after == kNone ? BesideLaunch::kNone : beside.after,
                                      beside.waits_for_stream};
  }

  void add_join(std::size_t s) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::join;
    instruction.call = steps_[s].beside->number;
    instruction.label = label(steps_[s]);
    segment(s).push_back(instruction);
  }

  /// The value that ops have computed, or that the host gives, of which this one is a view.
  LowValue viewed(LowValue v) const {
    for (LowOp op; (op = lowered_.values[v].producer) != kNone && lowered_.ops[op].means == LoweringKind::view;)
      v = lowered_.ops[op].op.inputs[0];
    return v;
  }

  /// Its number in the program's list.
  std::uint32_t describe(LowValue v) {
    const auto [known, is_new] = described_.try_emplace(v, static_cast<std::uint32_t>(program_.operands.size()));
    if (!is_new) return known->second;
    const LoweredValue& value = lowered_.values[v];
    const LoweredValue& from = lowered_.values[viewed(v)];
    OperandInfo info{from.name, {}, {}, value.dtype, value.held ? value.shape : Shape{0}, value.view.strides};
    if (from.producer != kNone) {
      const Op& op = lowered_.ops[from.producer].op;
      info.op = title_of(op);
      info.where = op.where;
    }
    program_.operands.push_back(std::move(info));
    return known->second;
  }

  void add_zero(std::size_t step, LowValue v) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::zero;
    instruction.bytes = lowered_.bytes(v);
    instruction.work.bytes = instruction.bytes;
    instruction.label = label(steps_[step]);
    instruction.address_count = 1;
    instruction.per_micro = moves(v) ? 1 : 0;
    instruction.first_address = address_of(v, 0);
    for (std::int64_t micro = 1; moves(v) && micro < lowered_.micro_batches; ++micro) address_of(v, micro);
    for (std::size_t i = instruction.first_address; i < program_.sources.size(); ++i)
      program_.sources[i].is_written = true;
    segment(step).push_back(instruction);
  }

  /// Its place in the address table.
  std::uint32_t address_of(LowValue v, std::int64_t micro) {
    program_.sources.push_back(source_of(v, micro));
    return static_cast<std::uint32_t>(program_.sources.size() - 1);
  }

  void add_begin(std::size_t s) {
    const ProgramStep& step = steps_[s];
    if (program_.calls.size() <= step.call_number) program_.calls.resize(step.call_number + 1);
    ExecutableCall& made = program_.calls[step.call_number];
    made = {step.call->with<std::uint32_t>([&](LowValue v) { return address_of(v, 0); })};
    for (const int axis : step.call->axes) made.axes.push_back(axis_name(axis));
    const bool pipelined = lowered_.in_pipeline(step.section) && step.guard == Guard::always;
    made.slots = pipelined ? slots_of(*step.call) : 1;
    for (std::int64_t copy = 1; copy < static_cast<std::int64_t>(made.slots); ++copy)
      for (const auto& entry : step.call->entries)
        for (const LowValue side : {entry.input, entry.output}) address_of(side, copy);
    const bool each = lowered_.sections[step.section].loop >= 0 && step.guard == Guard::always;
    made.runs = each ? static_cast<std::uint64_t>(lowered_.micro_batches) : 1;
    add_call(s, Instruction::Kind::begin, step.call_number);
  }

  /// As many on all ranks. A send or receive has one for each micro-batch: either side may keep as many copies of its
  /// memory as it needs.
  std::size_t slots_of(const LoweredCall& call) const {
    return static_cast<std::size_t>(is_pairwise(call.op) ? lowered_.micro_batches : lowered_.pipeline.slots);
  }

  void add_wait(std::size_t s) {
    const ProgramStep& step = steps_[s];
    add_call(s, Instruction::Kind::wait, step.wait_for);
    if (!step.late) return;
    Instruction& wait = segment(s).back();
    wait.behind = kAllOfCall;
    if (!lowered_.in_pipeline(step.section)) return;
    for (LowValue v : step.reads)
      wait.behind = std::min(wait.behind, static_cast<std::uint32_t>(lowered_.storage_of(v).copies));
  }

  void add_call(std::size_t s, Instruction::Kind kind, std::uint32_t number) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.guard = steps_[s].guard;
    instruction.call = number;
    instruction.label = label(steps_[s]);
    segment(s).push_back(instruction);
  }

  void add_transfer(std::size_t s) {
    const ProgramStep::Transfer& transfer = *steps_[s].transfer;
    const std::string& name = lowered_.values[transfer.state].name;
    if (!transfer.is_over) {
      if (program_.transfers.size() <= transfer.number) program_.transfers.resize(transfer.number + 1);
      ExecutableTransfer& made = program_.transfers[transfer.number];
      made = {name,
              transfer.slot,
              lowered_.storage_of(transfer.state).slot_offset,
              lowered_.bytes(transfer.value),
              address_of(transfer.value, 0),
              transfer.is_put};
      if (transfer.pinned != kNone) {
        made.pinned = address_of(transfer.pinned, 0);
        made.behind = transfer.behind;
      }
    }
    Instruction instruction;
    instruction.kind = transfer.is_over ? Instruction::Kind::settle : Instruction::Kind::transfer;
    instruction.guard = steps_[s].guard;
    instruction.call = transfer.number;
    const bool is_copy = transfer.pinned != kNone;
    program_.labels.push_back((is_copy           ? transfer.is_put ? "copy out " : "copy in "
                               : transfer.is_put ? "put "
                                                 : "get ") +
                              name);
    instruction.label = static_cast<std::uint32_t>(program_.labels.size() - 1);
    segment(s).push_back(instruction);
  }

  std::uint32_t label(const ProgramStep& step) {
    const Op& op = lowered_.ops[step.op].op;
    program_.labels.push_back(title_of(op));
    return static_cast<std::uint32_t>(program_.labels.size() - 1);
  }

  /// "forward of micro-batch 3", "backward of micro-batch 3, chunk 1".
  std::uint32_t label(const LoweredPipeline::Action& action) {
    const LoweredSection& section = lowered_.sections[action.section];
    if (section.ahead) return Executable::kNoLabel;
    const bool chunks = std::ranges::any_of(lowered_.sections, [](const auto& other) { return other.part.chunk > 0; });
    program_.labels.push_back(section.name + " of micro-batch " + std::to_string(action.micro_batch) +
                              (chunks ? ", chunk " + std::to_string(section.part.chunk) : ""));
    return static_cast<std::uint32_t>(program_.labels.size() - 1);
  }

  std::vector<Instruction>& segment(std::size_t step) { return program_.segments[steps_[step].section].instructions; }

  // --- poison

  void prepare_poison() {
    for (const auto& item : lifetimes_.items)
      program_.poison_bytes = std::max(program_.poison_bytes, item.interval.bytes);
    if (steps_.empty()) return;
    for (std::size_t i = 0; i < lifetimes_.items.size(); ++i)
      if (lifetimes_.items[i].interval.first > 0 && !overlaps_input(i)) add_poison(0, i, Guard::first);
  }

  /// Whether its bytes are written before the run. Those must not be poisoned at the start.
  bool overlaps_input(std::size_t i) const {
    for (std::size_t k = 0; k < lifetimes_.items.size(); ++k) {
      const Interval& other = lifetimes_.items[k].interval;
      if (other.first == 0 && plan_.offsets[k] < plan_.offsets[i] + lifetimes_.items[i].interval.bytes &&
          plan_.offsets[i] < plan_.offsets[k] + other.bytes)
        return true;
    }
    return false;
  }

  void poison_after(std::size_t step) {
    for (std::size_t i = 0; i < lifetimes_.items.size(); ++i) {
      const auto& item = lifetimes_.items[i];
      if (item.interval.last != static_cast<std::int64_t>(step) + 1) continue;
      const int loop = lowered_.sections[steps_[step].section].loop;
      add_poison(step, i, loop >= 0 && item.loop != loop ? Guard::last : Guard::always);
    }
  }

  void add_poison(std::size_t step, std::size_t item, Guard guard) {
    if (lifetimes_.items[item].interval.bytes == 0) return;
    Instruction instruction;
    instruction.kind = Instruction::Kind::poison;
    instruction.guard = guard;
    instruction.bytes = lifetimes_.items[item].interval.bytes;
    instruction.first_address = static_cast<std::uint32_t>(program_.sources.size());
    instruction.address_count = 1;
    program_.sources.push_back({AddressSource::Arena::work, plan_.offsets[item]});
    segment(step).push_back(instruction);
  }

  // --- ports

  Port port(const std::string& name, LowValue number) const {
    const LoweredValue& value = lowered_.values[number];
    const AddressSource source = source_of(number);
    const Shape shape = lowered_.step_shape(number);
    return {name,
            {value.dtype, shape, {}},
            source.offset,
            value.held ? static_cast<std::uint64_t>(element_count(shape)) * dtype_size(value.dtype) : 0,
            source.arena == AddressSource::Arena::persistent,
            rows_of(value),
            within_rows(value)};
  }

  std::vector<Range> rows_of(const LoweredValue& value) const {
    if (value.global.empty()) return {};
    if (value.runs.empty()) return {{0, value.global[0]}};
    const bool cut = value.micro.dim == 0;
    std::vector<Range> rows;
    for (std::int64_t micro = 0; micro < (cut ? lowered_.micro_batches : 1); ++micro)
      for (const baleen_run_t& run : value.runs[0]) {
        const std::int64_t begin = run.global + micro * value.global[0] / lowered_.micro_batches;
        rows.push_back({begin, begin + run.length});
      }
    return rows;
  }

  static std::vector<Ranges> within_rows(const LoweredValue& value) {
    std::vector<Ranges> within;
    for (std::size_t d = 1; d < value.global.size(); ++d) {
      Ranges& runs = within.emplace_back();
      if (value.runs.empty()) {
        if (value.global[d] > 0) runs = {{0, value.global[d]}};
        continue;
      }
      for (const baleen_run_t& run : value.runs[d]) runs.push_back({run.global, run.global + run.length});
    }
    return within;
  }

  void add_ports() {
    for (LowValue v : lowered_.sources)
      if (lowered_.storage_of(v).kind == Storage::Kind::input)
        program_.inputs.push_back(port(lowered_.values[v].name, v));
    for (const auto& [name, v] : lowered_.outputs) program_.outputs.push_back(port(name, v));
  }

  Executable& program_;
  Lowered& lowered_;
  const std::vector<ProgramStep>& steps_;
  const Lifetimes& lifetimes_;
  const Kernels& kernels_;
  const AssembleOptions& options_;
  MemoryPlan plan_;
  std::map<LowValue, std::uint32_t> described_;
};

}  // namespace

void assemble(Executable& executable, Lowered& lowered, const std::vector<ProgramStep>& steps,
              const Lifetimes& lifetimes, const Kernels& kernels, const AssembleOptions& options) {
  Assembler(executable, lowered, steps, lifetimes, kernels, options).run();
}

}  // namespace baleen
