/// \file Runs the passes of a compilation, and the compiled program.
#include "core/program/program.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

#include "baleen/collective.hpp"
#include "baleen/dtype.hpp"
#include "baleen/event.hpp"
#include "baleen/plugin.hpp"
#include "compiler/layout/piece.hpp"
#include "core/program/passes.hpp"
#include "core/program/program_impl.hpp"

namespace baleen {

const PersistentBuffer* PersistentLayout::find(const std::string& name) const {
  auto it = numbers.find(name);
  return it == numbers.end() ? nullptr : &buffers[it->second];
}

PersistentLayout lay_out(const std::vector<PersistentSpec>& specs, std::uint64_t alignment, const Mesh& mesh,
                         const Coordinates& at) {
  PersistentLayout layout;
  for (const PersistentSpec& spec : specs) {
    const Shape& global = spec.type.shape;
    const std::int64_t elements =
        spec.layout.empty() ? element_count(global) : piece_of(global, spec.layout, mesh, at).elements();
    const std::uint64_t bytes = static_cast<std::uint64_t>(elements) * dtype_size(spec.type.dtype);
    layout.numbers.emplace(spec.name, layout.buffers.size());
    layout.buffers.push_back({spec, layout.bytes, bytes});
    layout.bytes += align_up(bytes, alignment);
  }
  return layout;
}

namespace {

double flops_of(const ScheduledGraph& scheduled) {
  double flops = 0;
  for (const Section& section : scheduled.sections)
    for (OpId id : section.ops)
      if (const Op& op = scheduled.graph.op(id); op.kind->cost) flops += op.kind->cost(scheduled.graph, op).flops;
  return flops;
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// What this rank sends in one such call, by transport.h's formulas.
std::uint64_t bytes_sent(const ProgramCall& call, const Mesh& mesh, const Coordinates& at) {
  std::uint64_t members = 1, place = 0;
  for (const std::string& axis : call.axes) {
    const auto number = static_cast<std::size_t>(mesh.find(axis));
    members *= static_cast<std::uint64_t>(mesh.axes[number].size);
    place = place * static_cast<std::uint64_t>(mesh.axes[number].size) +
            static_cast<std::uint64_t>(at.empty() ? 0 : at[number]);
  }
  const std::uint64_t size = dtype_size(call.dtype);
  std::uint64_t elements = 0, bytes = 0;
  for (std::size_t i = 0; i < call.entries.size() / call.slots.size(); ++i) {
    const ProgramCall::Entry& e = call.entries[i];
    const std::uint64_t own = std::min(e.count, (place + 1) * e.block) - std::min(e.count, place * e.block);
    const bool root = static_cast<std::uint64_t>(call.root) == place;
    switch (call.op) {
      case BALEEN_ALL_REDUCE: bytes += 2 * (members - 1) * e.count * size / members; break;
      case BALEEN_REDUCE_SCATTER: elements += e.count - own; break;
      case BALEEN_ALL_GATHER: elements += (members - 1) * own; break;
      case BALEEN_BROADCAST: elements += root ? (members - 1) * e.count : 0; break;
      case BALEEN_ALL_TO_ALL:
        elements += std::accumulate(e.sends.begin(), e.sends.end(), std::uint64_t{0}) - e.sends[place];
        break;
      case BALEEN_SEND: elements += e.count; break;
      case BALEEN_RECEIVE: break;
      case BALEEN_PERMUTE: {
        const std::int32_t to = call.destinations[place];
        elements += to < 0 || static_cast<std::uint64_t>(to) == place ? 0 : e.count;
        break;
      }
      default: elements += root ? 0 : e.count;
    }
  }
  return bytes + elements * size;
}

/// Spans of calls say which one it is, so that beginnings find their waits, and what this rank sends.
void name_calls(ProgramImpl& program) {
  for (const Segment& segment : program.segments)
    for (const Instruction& i : segment.instructions) {
      if (i.kind != Instruction::Kind::begin && i.kind != Instruction::Kind::wait) continue;
      const std::uint64_t bytes = bytes_sent(program.calls[i.call], program.scheduled.graph.mesh(), program.at);
      program.labels[i.label] += " #" + std::to_string(i.call + 1) + ", " + std::to_string(bytes) + " bytes";
    }
}

/// The category of an instruction's span; null where it has none.
const char* category_of(Instruction::Kind kind) {
  switch (kind) {
    case Instruction::Kind::launch:
    case Instruction::Kind::zero: return "compute";
    case Instruction::Kind::begin: return "begin";
    case Instruction::Kind::wait: return "wait";
    case Instruction::Kind::poison: break;
  }
  return nullptr;
}

/// One run of a program.
class Runner {
 public:
  Runner(ProgramImpl& program, void* stream, const Program::RunOptions& options)
      : program_(program), table_(program.device->table()), device_(program.device->handle()), options_(options) {
    launch_.size = sizeof(launch_);
    launch_.stream = stream;
    launch_.seed = options.seed;
    launch_.step = options.step;
  }

  Status run() {
    const auto& segments = program_.segments;
    for (std::size_t begin = 0; begin < segments.size();) {
      std::size_t end = begin + 1;
      while (segments[begin].loop >= 0 && end < segments.size() && segments[end].loop == segments[begin].loop) ++end;
      const std::int64_t turns = segments[begin].loop >= 0 ? program_.scheduled.micro_batches : 1;
      if (segments[begin].loop >= 0 && segments[begin].loop == program_.turned_loop) {
        for (const auto& turn : program_.turns) BALEEN_TRY(run_segment(turn.segment, turn.micro_batch, turns));
        begin = end;
        continue;
      }
      for (std::int64_t micro = 0; micro < turns; ++micro)
        for (std::size_t s = begin; s < end; ++s) BALEEN_TRY(run_segment(s, micro, turns));
      begin = end;
    }
    BALEEN_TRY(synchronize());
    return program_.calls.empty() ? Status() : program_.communicator->check();
  }

 private:
  Status synchronize() { return program_.device->check(table_.synchronize(device_, launch_.stream)); }

  Status run_segment(std::size_t number, std::int64_t micro, std::int64_t turns) {
    const std::int64_t begin = options_.segment_ns ? now() : 0;
    launch_.micro = static_cast<std::uint64_t>(micro);
    const std::vector<Instruction>& instructions = program_.segments[number].instructions;
    if (options_.spans || !program_.sequences.available())
      BALEEN_TRY(run_instructions(instructions, micro, turns));
    else
      BALEEN_TRY(run_stretches(number, micro, turns));
    if (options_.segment_ns) {
      BALEEN_TRY(synchronize());
      (*options_.segment_ns)[number] += now() - begin;
    }
    return {};
  }

  Status run_instructions(std::span<const Instruction> instructions, std::int64_t micro, std::int64_t turns) {
    for (const Instruction& instruction : instructions) {
      if (!due(instruction.guard, micro, turns)) continue;
      if (options_.spans)
        BALEEN_TRY(execute_timed(instruction));
      else
        BALEEN_TRY(execute(instruction));
    }
    return {};
  }

  Status run_stretches(std::size_t number, std::int64_t micro, std::int64_t turns) {
    const std::span<const Instruction> all = program_.segments[number].instructions;
    std::vector<KeptStretch>& list = program_.sequences.at(number, static_cast<std::size_t>(micro));
    if (list.empty()) list = Sequences::cut(all, [&](const Instruction& i) { return due(i.guard, micro, turns); });
    for (KeptStretch& stretch : list)
      BALEEN_TRY(run_stretch(stretch, all.subspan(stretch.first, stretch.last - stretch.first), micro, turns));
    return {};
  }

  Status run_stretch(KeptStretch& stretch, std::span<const Instruction> instructions, std::int64_t micro,
                     std::int64_t turns) {
    Sequences& sequences = program_.sequences;
    if (sequences.wants(stretch, launch_.stream) && sequences.begin(stretch))
      sequences.end(stretch, static_cast<bool>(run_instructions(instructions, micro, turns)));
    if (!sequences.has(stretch, launch_.stream)) return run_instructions(instructions, micro, turns);
    return sequences.replay(stretch, options_.seed, options_.step);
  }

  static bool due(Guard guard, std::int64_t micro, std::int64_t turns) {
    switch (guard) {
      case Guard::always: return true;
      case Guard::first: return micro == 0;
      case Guard::not_first: return micro != 0;
      case Guard::last: return micro == turns - 1;
    }
    return false;
  }

  Status execute(const Instruction& i) {
    void* const* addresses = program_.addresses.data() + i.first_address + i.per_micro * launch_.micro;
    if (i.kind == Instruction::Kind::poison) {
      BALEEN_TRY(
          program_.device->check(table_.copy(device_, launch_.stream, addresses[0], program_.poison.data(), i.bytes)));
      return {};
    }
    if (i.kind == Instruction::Kind::zero)
      return program_.device->check(table_.zero(device_, launch_.stream, addresses[0], i.bytes));
    if (i.kind == Instruction::Kind::begin) return begin(program_.calls[i.call]);
    if (i.kind == Instruction::Kind::wait) return wait(program_.calls[i.call]);
    launch_.tensors = addresses;
    launch_.scratch = addresses[i.address_count - 1];
    return program_.device->check(table_.launch(device_, i.kernel, &launch_));
  }

  /// The call begins when the stream has come to this point.
  Status begin(ProgramCall& call) {
    if (program_.staging) return program_.staging->begin(program_, call, launch_.micro, launch_.stream);
    BALEEN_TRY(
        program_.device->check(table_.stream_signal(device_, launch_.stream, &program_.issued, ++program_.issues)));
    return program_.communicator->start(call.slots[launch_.micro % call.slots.size()], &program_.issued,
                                        program_.issues, call.done.get(), ++call.begun);
  }

  Status wait(ProgramCall& call) {
    if (program_.staging)
      BALEEN_TRY(program_.staging->wait(program_, call, launch_.micro, launch_.stream));
    else
      BALEEN_TRY(program_.device->check(table_.stream_wait(device_, launch_.stream, call.done.get(), call.begun)));
    return program_.communicator->check();
  }

  Status execute_timed(const Instruction& i) {
    const std::int64_t begin = now();
    BALEEN_TRY(execute(i));
    BALEEN_TRY(synchronize());
    if (const char* category = category_of(i.kind))
      options_.spans->push_back({program_.labels[i.label].c_str(), category, begin, now(), i.work});
    return {};
  }

  ProgramImpl& program_;
  const baleen_compute_t& table_;
  void* device_;
  const Program::RunOptions& options_;
  baleen_launch_t launch_{};
};

}  // namespace

Program::Program(std::unique_ptr<ProgramImpl> impl) : impl_(std::move(impl)) {}
Program::Program(Program&&) noexcept = default;

Program& Program::operator=(Program&& other) noexcept {
  settle();
  impl_ = std::move(other.impl_);
  return *this;
}

Program::~Program() { settle(); }

void Program::settle() {
  if (!impl_ || !impl_->communicator) return;
  const auto open = [](const baleen_event_t& event, std::uint64_t begun) {
    const std::uint64_t value = event_value(event);
    return value < begun || value == BALEEN_EVENT_FAILED;
  };
  const bool unfinished = std::any_of(impl_->calls.begin(), impl_->calls.end(), [&](const ProgramCall& call) {
    if (!impl_->staging || !is_pairwise(call.op)) return open(*call.done, call.begun);
    return std::any_of(call.parts.begin(), call.parts.end(),
                       [&](const StagedPart& part) { return open(*part.done, call.begun); });
  });
  if (unfinished) impl_->communicator->settle();
}

Result<Program> Program::compile(ScheduledGraph scheduled, Device& device, const PersistentLayout& persistent,
                                 const CompileOptions& options) {
  auto impl = std::make_unique<ProgramImpl>(std::move(scheduled), device);
  impl->flops = flops_of(impl->scheduled);
  impl->at = options.at;
  BALEEN_TRY_ASSIGN(Lowered lowered, lower(impl->scheduled, device, persistent, options.at));
  BALEEN_TRY(take_turns(impl->scheduled, lowered));
  BALEEN_TRY(place(lowered, persistent));
  const Regions regions = form_regions(lowered, device);
  BALEEN_TRY_ASSIGN(auto steps, build_steps(lowered, regions, impl->kernels));
  BALEEN_TRY_ASSIGN(steps, resolve_assigns(lowered, std::move(steps), impl->kernels));
  BALEEN_TRY_ASSIGN(steps, schedule_calls(lowered, std::move(steps)));
  const Lifetimes lifetimes = find_lifetimes(lowered, steps, impl->kernels);
  assemble(*impl, lowered, steps, lifetimes, options);
  if (options.staged_piece_bytes > 0) stage_calls(*impl, options.staged_piece_bytes);
  name_calls(*impl);
  return Program(std::move(impl));
}

const MemoryReport& Program::memory() const { return impl_->memory; }
const std::vector<Port>& Program::inputs() const { return impl_->inputs; }
const std::vector<Port>& Program::outputs() const { return impl_->outputs; }
const std::vector<Segment>& Program::segments() const { return impl_->segments; }
const Graph& Program::graph() const { return impl_->scheduled.graph; }
double Program::flops() const { return impl_->flops; }

void Program::bind(void* persistent_arena, void* work_arena) {
  impl_->persistent_base = persistent_arena;
  impl_->work_base = work_arena;
  impl_->sequences.clear();
  impl_->addresses.clear();
  for (const AddressSource& source : impl_->sources) {
    char* base = static_cast<char*>(source.arena == AddressSource::Arena::persistent ? persistent_arena : work_arena);
    impl_->addresses.push_back(source.arena == AddressSource::Arena::none ? nullptr : base + source.offset);
  }
}

void* Program::address(const Port& port) const {
  return static_cast<char*>(port.persistent ? impl_->persistent_base : impl_->work_base) + port.offset;
}

bool Program::communicates() const { return !impl_->groups.empty(); }

bool Program::shares_persistent() const {
  const auto persistent = [&](std::uint32_t address) {
    return impl_->sources[address].arena == AddressSource::Arena::persistent;
  };
  for (const ProgramCall& call : impl_->calls)
    for (const ProgramCall::Entry& e : call.entries)
      if (persistent(e.input) || persistent(e.output)) return true;
  return false;
}

const StagingBytes& Program::staging() const { return impl_->staging_bytes; }

Status Program::connect(Communicator& communicator, const std::string& name, Staging* staging) {
  impl_->communicator = &communicator;
  impl_->staging = staging;
  impl_->issued.size = sizeof(baleen_event_t);
  for (const std::vector<std::string>& axes : impl_->groups) BALEEN_TRY(communicator.meet(axes));
  for (std::size_t number = 0; number < impl_->calls.size(); ++number) {
    ProgramCall& call = impl_->calls[number];
    const auto list = [](const std::vector<std::uint64_t>& counts) { return counts.empty() ? nullptr : counts.data(); };
    std::vector<baleen_collective_entry_t> entries;
    for (const ProgramCall::Entry& e : call.entries)
      entries.push_back(
          {impl_->addresses[e.input], impl_->addresses[e.output], e.count, e.block, list(e.sends), list(e.receives)});
    baleen_collective_spec_t spec{};
    spec.size = sizeof(spec);
    spec.op = call.op;
    spec.reduction = call.reduction;
    spec.dtype = call.dtype;
    spec.root = call.root;
    spec.entry_count = entries.size() / call.slots.size();
    spec.destinations = call.destinations.empty() ? nullptr : call.destinations.data();
    spec.deterministic = 1;
    const std::string where = call.where + ", number " + std::to_string(number + 1) + " of `" + name + "`";
    spec.where = abi(where);
    call.done->size = sizeof(baleen_event_t);
    if (staging) {
      BALEEN_TRY(staging->prepare(call, spec));
      continue;
    }
    for (std::size_t slot = 0; slot < call.slots.size(); ++slot) {
      spec.entries = entries.data() + slot * spec.entry_count;
      BALEEN_TRY_ASSIGN(call.slots[slot], communicator.prepare(call.axes, spec));
    }
  }
  return {};
}

std::vector<Traffic> Program::traffic() const {
  std::map<std::pair<std::string, std::string>, Traffic> rows;
  for (const ProgramCall& call : impl_->calls) {
    std::string axes;
    for (const std::string& axis : call.axes) axes += (axes.empty() ? "" : "+") + axis;
    Traffic& row = rows[{std::string(collective_name(call.op)), axes}];
    row.kind = collective_name(call.op);
    row.axes = axes;
    row.calls += call.runs;
    row.bytes += call.runs * bytes_sent(call, graph().mesh(), impl_->at);
  }
  std::vector<Traffic> result;
  for (auto& [key, row] : rows) result.push_back(std::move(row));
  return result;
}

Status Program::run(void* stream, const RunOptions& options) { return Runner(*impl_, stream, options).run(); }

}  // namespace baleen
