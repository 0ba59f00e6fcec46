/// \file Binds, connects and runs a compiled program.
#include "core/execute/program.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "baleen/collective.hpp"
#include "baleen/event.hpp"
#include "baleen/plugin.hpp"
#include "core/execute/device_target.hpp"
#include "core/execute/kept_calls.hpp"
#include "core/execute/program_impl.hpp"
#include "core/execute/updates_beside.hpp"

namespace baleen {
namespace {

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The category of an instruction's span; null where it has none.
const char* category_of(Instruction::Kind kind) {
  switch (kind) {
    case Instruction::Kind::launch:
    case Instruction::Kind::launch_beside:
    case Instruction::Kind::zero: return "compute";
    case Instruction::Kind::begin:
    case Instruction::Kind::transfer: return "begin";
    case Instruction::Kind::wait:
    case Instruction::Kind::join:
    case Instruction::Kind::settle: return "wait";
    case Instruction::Kind::poison: break;
  }
  return nullptr;
}

/// Whether some call that has begun has failed, or is not over as far as its event says.
bool has_open_calls(const ProgramImpl& program) {
  const auto is_open = [](const baleen_event_t& event, std::uint64_t begun) {
    const std::uint64_t value = event_value(event);
    return value < begun || value == BALEEN_EVENT_FAILED;
  };
  return std::ranges::any_of(program.calls, [&](const ProgramCall& call) {
    if (!call.what->staged)
      return std::ranges::any_of(call.slots, [&](const auto& slot) { return is_open(*slot.done, slot.begun); });
    if (!is_pairwise(call.what->op)) return is_open(*call.done, call.begun);
    return std::ranges::any_of(call.parts, [&](const auto& part) { return is_open(*part.done, call.begun); });
  });
}

/// A device that has failed is the cause of what a transport or a store says of it. Does not wait for one that has not.
Status first_cause(ProgramImpl& program, void* stream, Status failed) {
  const baleen_compute_t& table = program.device->table();
  void* const device = program.device->handle();
  if (program.device->host_reaches()) return failed;
  if (table.stream_signal(device, stream, &program.issued, ++program.issues) == BALEEN_OK) return failed;
  Status of_device = program.device->check(table.synchronize(device, stream));
  return of_device ? failed : of_device;
}

/// One run of a program.
class Runner {
 public:
  Runner(ProgramImpl& program, void* stream, const Program::RunOptions& options)
      : program_(program),
        executable_(program.executable),
        table_(program.device->table()),
        device_(program.device->handle()),
        options_(options),
        stamps_(options.segment_ns ? program.stamps.get() : nullptr) {
    launch_.size = sizeof(launch_);
    launch_.stream = stream;
    launch_.seed = options.seed;
    launch_.step = options.step;
  }

  Status run() {
    if (stamps_) BALEEN_TRY(stamps_->note(launch_.stream, 0));
    BALEEN_TRY(for_each_turn(executable_, [this](std::size_t segment, std::int64_t micro, std::int64_t turns) {
      return run_segment(segment, micro, turns);
    }));
    BALEEN_TRY(wait_for_stream());
    if (stamps_) BALEEN_TRY(add_stamped_times());
    return check_others();
  }

 private:
  static constexpr std::size_t kNoGate = SIZE_MAX;

  Status synchronize() { return program_.device->check(table_.synchronize(device_, launch_.stream)); }

  /// Whether what stores and peers were to bring has come. A peer that was lost behind that changes nothing here; of
  /// what is staged the device raises the events, which tell nothing of the transport.
  Status check_others() {
    if (program_.cores) BALEEN_TRY(program_.cores->check());
    if (!program_.transfers.empty()) BALEEN_TRY(program_.store->check());
    BALEEN_TRY(check_replays(program_));
    if (program_.calls.empty() || (!program_.staging && !has_open_calls(program_))) return {};
    return program_.communicator->check();
  }

  /// With what the host wants to see then.
  Status wait_for_stream() {
    if (options_.before_wait) BALEEN_TRY(options_.before_wait());
    return synchronize();
  }

  Status add_stamped_times() {
    std::uint64_t turn = 0;
    return for_each_turn(executable_, [&](std::size_t segment, std::int64_t, std::int64_t) -> Status {
      BALEEN_TRY_ASSIGN(const std::int64_t spent, stamps_->between(turn, turn + 1));
      (*options_.segment_ns)[segment] += spent;
      ++turn;
      return {};
    });
  }

  Status run_segment(std::size_t number, std::int64_t micro, std::int64_t turns) {
    const std::uint32_t pass = label_of(number);
    const bool spans = options_.spans && pass != Executable::kNoLabel;
    const std::int64_t begin = options_.segment_ns || spans ? now() : 0;
    launch_.micro = static_cast<std::uint64_t>(micro);
    const std::vector<Instruction>& instructions = executable_.segments[number].instructions;
    const BlockLaunches* const blocks = program_.block_launches ? &*program_.block_launches : nullptr;
    watch_ = options_.watch && options_.watch->sees(executable_, number, blocks) ? options_.watch : nullptr;
    const std::size_t gate = gate_of(number);
    BALEEN_TRY(run_part(number, 0, gate, micro, turns));
    if (gate != kNoGate) {
      BALEEN_TRY(wait_for_stream());
      BALEEN_TRY(check_others());
      BALEEN_TRY(options_.gate());
      BALEEN_TRY(run_part(number, gate, instructions.size(), micro, turns));
    }
    if (spans) options_.spans->push_back({executable_.labels[pass].c_str(), "pass", begin, now(), {}});
    if (stamps_) return stamps_->note(launch_.stream, ++turns_done_);
    if (options_.segment_ns) {
      BALEEN_TRY(synchronize());
      (*options_.segment_ns)[number] += now() - begin;
    }
    return {};
  }

  /// The instruction of a segment before which the gate is.
  std::size_t gate_of(std::size_t segment) const {
    const auto& gate = executable_.gate;
    return options_.gate && gate && gate->segment == segment ? gate->instruction : kNoGate;
  }

  /// Its instructions from `first` to `last`, or to its end.
  Status run_part(std::size_t segment, std::size_t first, std::size_t last, std::int64_t micro, std::int64_t turns) {
    const std::span<const Instruction> all = executable_.segments[segment].instructions;
    last = std::min(last, all.size());
    if (watch_ || options_.spans || !program_.sequences.available())
      return run_instructions(all.subspan(first, last - first), micro, turns);
    return run_stretches(segment, first, last, micro, turns);
  }

  /// Of the action that runs this segment, where it is one of a pipeline schedule: they come in their order.
  std::uint32_t label_of(std::size_t segment) {
    const bool is_action = executable_.pipelined_loop >= 0 && next_action_ < executable_.actions.size() &&
                           executable_.segments[segment].loop == executable_.pipelined_loop;
    return is_action ? executable_.actions[next_action_++].label : Executable::kNoLabel;
  }

  Status run_instructions(std::span<const Instruction> instructions, std::int64_t micro, std::int64_t turns) {
    for (const Instruction& instruction : instructions) {
      if (!is_due(instruction.guard, micro, turns)) continue;
      if (watch_) BALEEN_TRY(before(instruction));
      if (options_.spans)
        BALEEN_TRY(execute_timed(instruction));
      else
        BALEEN_TRY(execute(instruction));
      if (watch_) BALEEN_TRY(after(instruction));
    }
    return {};
  }

  bool shows(const Instruction& i) const {
    const bool is_launch = i.kind == Instruction::Kind::launch || i.kind == Instruction::Kind::launch_beside;
    return is_launch && watch_->wants_launches();
  }
  std::size_t first_address(const Instruction& i) const { return i.first_address + i.per_micro * launch_.micro; }

  Status before(const Instruction& i) {
    BALEEN_TRY(watch_->before(i));
    if (!shows(i)) return {};
    BALEEN_TRY(synchronize());
    if (i.kind == Instruction::Kind::launch_beside) wait_for_copies(program_, i);
    const std::size_t first = first_address(i);
    return watch_->before_launch(executable_, i, static_cast<std::uint32_t>(first), &program_.addresses[first]);
  }

  Status after(const Instruction& i) {
    BALEEN_TRY(watch_->after(i));
    if (!shows(i)) return {};
    BALEEN_TRY(synchronize());
    if (i.kind == Instruction::Kind::launch_beside) wait_beside(program_, i);
    const std::size_t first = first_address(i);
    return watch_->after_launch(executable_, i, static_cast<std::uint32_t>(first), &program_.addresses[first]);
  }

  Status run_stretches(std::size_t number, std::size_t first, std::size_t last, std::int64_t micro,
                       std::int64_t turns) {
    const std::span<const Instruction> all = executable_.segments[number].instructions;
    std::vector<KeptStretch>& list = program_.sequences.at(number, static_cast<std::size_t>(micro));
    if (list.empty())
      list = Sequences::cut(
          all, gate_of(number), [&](const Instruction& i) { return is_due(i.guard, micro, turns); },
          [&](const Instruction& i) { return may_be_kept(program_, i); });
    for (KeptStretch& stretch : list)
      if (first <= stretch.first && stretch.first < last)
        BALEEN_TRY(run_stretch(stretch, all.subspan(stretch.first, stretch.last - stretch.first), micro, turns));
    return {};
  }

  Status run_stretch(KeptStretch& stretch, std::span<const Instruction> instructions, std::int64_t micro,
                     std::int64_t turns) {
    Sequences& sequences = program_.sequences;
    const auto enqueue = [&] { return run_instructions(instructions, micro, turns); };
    if (sequences.wants(stretch, launch_.stream)) {
      if (stretch.calls > 0)
        keep_with_calls(program_, stretch, instructions, enqueue);
      else if (sequences.begin(stretch))
        sequences.end(stretch, static_cast<bool>(enqueue()));
    }
    if (!sequences.has(stretch, launch_.stream)) return enqueue();
    if (stretch.calls > 0) return replay_with_calls(program_, stretch, launch_.stream, options_.seed, options_.step);
    return sequences.replay(stretch, options_.seed, options_.step);
  }

  Status execute(const Instruction& i) {
    void* const* addresses = program_.addresses.data() + first_address(i);
    if (i.kind == Instruction::Kind::poison)
      return program_.device->check(
          table_.copy(device_, launch_.stream, addresses[0], program_.poison.data(), i.bytes));
    if (i.kind == Instruction::Kind::zero)
      return program_.device->check(table_.zero(device_, launch_.stream, addresses[0], i.bytes));
    if (i.kind == Instruction::Kind::begin) return begin(program_.calls[i.call]);
    if (i.kind == Instruction::Kind::wait) return wait(program_.calls[i.call], i.behind);
    if (i.kind == Instruction::Kind::transfer) return begin(program_.transfers[i.call]);
    if (i.kind == Instruction::Kind::settle) return wait(program_.transfers[i.call]);
    if (i.kind == Instruction::Kind::join) return join_beside(program_, i, launch_.stream);
    launch_.tensors = addresses;
    launch_.scratch = addresses[i.address_count - 1];
    if (i.kind == Instruction::Kind::launch_beside) return launch_beside(program_, i, launch_);
    void* const kernel = executable_.kernels[i.kernel].get();
    if (const baleen_block_watch_t* blocks = watch_ ? watch_->blocks(i) : nullptr)
      return program_.block_launches->launch(kernel, launch_, *blocks);
    return program_.device->check(table_.launch(device_, kernel, &launch_));
  }

  /// The call begins when the stream has come to this point.
  Status begin(ProgramCall& call) {
    if (call.what->staged) return program_.staging->begin(program_, call, launch_.micro, launch_.stream);
    BALEEN_TRY(
        program_.device->check(table_.stream_signal(device_, launch_.stream, &program_.issued, ++program_.issues)));
    ProgramCall::Slot& slot = call.slots[launch_.micro % call.slots.size()];
    return program_.communicator->start(slot.handle, &program_.issued, program_.issues, slot.done.get(), ++slot.begun);
  }

  Status wait(ProgramCall& call, std::uint32_t behind) {
    if (call.what->staged)
      BALEEN_TRY(program_.staging->wait(program_, call, launch_.micro, launch_.stream));
    else if (behind == kAllOfCall)
      for (const ProgramCall::Slot& slot : call.slots) BALEEN_TRY(wait(call, slot));
    else if (behind <= launch_.micro)
      BALEEN_TRY(wait(call, call.slots[(launch_.micro - behind) % call.slots.size()]));
    return program_.communicator->check();
  }

  /// Where the store finds it: the buffer, or its place in pinned memory.
  void* memory_of(const ExecutableTransfer& transfer) const {
    std::byte* const pinned = program_.store->pinned();
    return pinned ? pinned + transfer.staged : program_.addresses[transfer.address];
  }

  Status copy(void* to, const void* from, std::uint64_t bytes) {
    return to == from ? Status() : program_.device->check(table_.copy(device_, launch_.stream, to, from, bytes));
  }

  /// The buffer is free, or made, when the stream has come to this point.
  Status begin(ProgramTransfer& transfer) {
    const ExecutableTransfer& what = *transfer.what;
    if (what.is_copy()) return begin_copy(program_, transfer, launch_.stream);
    if (what.is_put) BALEEN_TRY(copy(memory_of(what), program_.addresses[what.address], what.bytes));
    BALEEN_TRY(
        program_.device->check(table_.stream_signal(device_, launch_.stream, &program_.issued, ++program_.issues)));
    BALEEN_TRY(program_.store->start(what.is_put, {what.slot, what.offset, what.bytes, memory_of(what)},
                                     {&program_.issued, program_.issues, transfer.done.get(), transfer.begun + 1}));
    ++transfer.begun;
    return {};
  }

  Status wait(const ProgramTransfer& transfer) {
    const ExecutableTransfer& what = *transfer.what;
    BALEEN_TRY(
        program_.device->check(table_.stream_wait(device_, launch_.stream, transfer.done.get(), transfer.begun)));
    if (what.is_copy() || program_.store->is_direct()) return {};
    // The host waits too: a store has room for what is under way by the program's order, not for all that a stream may
    // be ahead of it. And what failed is not computed with.
    BALEEN_TRY(synchronize());
    if (event_value(*transfer.done) == BALEEN_EVENT_FAILED) return program_.store->check();
    return what.is_put ? Status() : copy(program_.addresses[what.address], memory_of(what), what.bytes);
  }

  Status wait(const ProgramCall& call, const ProgramCall::Slot& slot) {
    if (is_pairwise(call.what->op) && program_.communicator->is_watched() && program_.device->host_reaches()) {
      BALEEN_TRY(
          program_.device->check(table_.stream_signal(device_, launch_.stream, &program_.awaited, ++program_.awaits)));
      program_.communicator->awaits(slot.handle, program_.awaited, program_.awaits, *slot.done, slot.begun);
    }
    return program_.device->check(table_.stream_wait(device_, launch_.stream, slot.done.get(), slot.begun));
  }

  Status execute_timed(const Instruction& i) {
    const std::int64_t begin = now();
    BALEEN_TRY(execute(i));
    BALEEN_TRY(synchronize());
    if (i.kind == Instruction::Kind::launch_beside) wait_beside(program_, i);
    if (const char* category = category_of(i.kind))
      options_.spans->push_back({executable_.labels[i.label].c_str(), category, begin, now(), i.work});
    return {};
  }

  ProgramImpl& program_;
  const Executable& executable_;
  const baleen_compute_t& table_;
  void* device_;
  const Program::RunOptions& options_;
  const Stamps* const stamps_;  ///< where segments are timed by them
  std::uint64_t turns_done_ = 0;
  baleen_launch_t launch_{};
  InstructionWatch* watch_ = nullptr;  ///< of the segment that runs
  std::size_t next_action_ = 0;        // of the pipeline schedule
};

}  // namespace

Program::Program(Executable executable, Device& device)
    : impl_(std::make_unique<ProgramImpl>(std::move(executable), device)) {}
Program::Program(Program&&) noexcept = default;

Program& Program::operator=(Program&& other) noexcept {
  settle();
  impl_ = std::move(other.impl_);
  return *this;
}

Program::~Program() { settle(); }

void Program::settle() {
  if (!impl_ || !impl_->communicator) return;
  release_kept(*impl_);
  if (has_open_calls(*impl_) || has_open_replays(*impl_)) impl_->communicator->settle();
  impl_->communicator->before_end(impl_.get(), nullptr);
  impl_->communicator->forget_begun();
}

void Program::settle_transfers() {
  if (!impl_) return;
  for (ProgramTransfer& transfer : impl_->transfers) {
    event_wait(*transfer.done, transfer.begun);
    if (event_value(*transfer.done) != BALEEN_EVENT_FAILED) continue;
    transfer.done->word = 0;  // it would say so of later ones too
    transfer.begun = 0;
  }
  settle_beside(*impl_);
}

Result<Program> Program::compile(const ScheduledGraph& scheduled, Device& device, const PersistentLayout& persistent,
                                 CompileOptions options, const Device* host) {
  const DeviceTarget target(device), beside(host ? *host : device);
  if (host) options.host = host == &device ? &target : &beside;
  BALEEN_TRY_ASSIGN(Executable executable, baleen::compile(scheduled, target, persistent, options));
  return Program(std::move(executable), device);
}

const Executable& Program::executable() const { return impl_->executable; }

void Program::bind(void* persistent_arena, void* work_arena, OffloadStores* store, HostCores* cores) {
  impl_->store = store;
  impl_->cores = cores;
  impl_->persistent_base = persistent_arena;
  impl_->work_base = work_arena;
  impl_->sequences.clear();
  impl_->addresses.clear();
  for (const AddressSource& source : impl_->executable.sources) {
    void* base = nullptr;
    switch (source.arena) {
      case AddressSource::Arena::none: break;
      case AddressSource::Arena::work: base = work_arena; break;
      case AddressSource::Arena::persistent: base = persistent_arena; break;
      case AddressSource::Arena::slot: base = store->memory(source.slot); break;
      case AddressSource::Arena::pinned: base = cores->pinned(); break;
    }
    const bool is_none = source.arena == AddressSource::Arena::none;
    impl_->addresses.push_back(is_none ? nullptr : static_cast<char*>(base) + source.offset);
  }
}

void* Program::address(const Port& port) const {
  return static_cast<char*>(port.persistent ? impl_->persistent_base : impl_->work_base) + port.offset;
}

bool Program::shares_persistent() const {
  const auto persistent = [&](std::uint32_t address) {
    return executable().sources[address].arena == AddressSource::Arena::persistent;
  };
  for (const ExecutableCall& call : executable().calls)
    for (const auto& e : call.entries)
      if (!call.staged && (persistent(e.input) || persistent(e.output))) return true;
  return false;
}

bool Program::stages() const { return std::ranges::any_of(executable().calls, &ExecutableCall::staged); }

Status Program::connect(Communicator& communicator, const std::string& name, Staging* staging) {
  impl_->communicator = &communicator;
  impl_->name = name;
  impl_->staging = staging;
  BALEEN_TRY_ASSIGN(impl_->native, communicator.lease(impl_->device->handle(), impl_->device->table()));
  communicator.before_end(impl_.get(), [program = impl_.get()] { release_kept(*program); });
  for (const std::vector<std::string>& axes : executable().groups) BALEEN_TRY(communicator.meet(axes));
  for (std::size_t number = 0; number < impl_->calls.size(); ++number) {
    ProgramCall& call = impl_->calls[number];
    const ExecutableCall& what = *call.what;
    const std::string where = what.where + ", number " + std::to_string(number + 1) + " of `" + name + "`";
    call.done->size = sizeof(baleen_event_t);
    if (what.staged) {
      BALEEN_TRY(staging->prepare(call, where));
      continue;
    }
    for (std::size_t slot = 0; slot < call.slots.size(); ++slot) {
      CollectiveArgs placed = what.with<const void*, void*>(
          [&](std::uint32_t address) { return impl_->addresses[what.in_slot(address, slot)]; });
      placed.where = where;
      call.slots[slot].done->size = sizeof(baleen_event_t);
      BALEEN_TRY_ASSIGN(call.slots[slot].handle, communicator.prepare(what.axes, std::move(placed)));
    }
  }
  return {};
}

Status Program::make_stamps() {
  if (std::exchange(impl_->has_stamps, true)) return {};
  std::uint64_t turns = 0;
  BALEEN_TRY(for_each_turn(executable(), [&](std::size_t, std::int64_t, std::int64_t) -> Status {
    ++turns;
    return {};
  }));
  auto made = Stamps::create(*impl_->device, turns + 1);
  if (made) impl_->stamps = *std::move(made);  // else the host waits
  return {};
}

Status Program::run(void* stream, const RunOptions& options) {
  if (options.segment_ns) BALEEN_TRY(make_stamps());
  if (impl_->communicator) {
    std::int64_t own = 0;
    for (const ExecutableCall& call : executable().calls) own += static_cast<std::int64_t>(call.runs);
    impl_->communicator->counts(own, executable().collectives);
    impl_->communicator->runs(impl_->name);
    BALEEN_TRY(agree_on_kept(*impl_));
  }
  Status ran = Runner(*impl_, stream, options).run();
  return ran ? ran : first_cause(*impl_, stream, std::move(ran));
}

}  // namespace baleen
