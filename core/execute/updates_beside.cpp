/// \file Which events an update waits for, and which it raises.
#include "core/execute/updates_beside.hpp"

#include "baleen/event.hpp"

namespace baleen {
namespace {

HostCores::Mark mark_of(const ProgramTransfer& transfer) { return {transfer.done.get(), transfer.begun}; }

/// For who waits for all that the stream has been given so far.
Result<HostCores::Mark> mark_of(ProgramImpl& program, void* stream) {
  const baleen_compute_t& table = program.device->table();
  BALEEN_TRY(
      program.device->check(table.stream_signal(program.device->handle(), stream, &program.issued, ++program.issues)));
  return HostCores::Mark{&program.issued, program.issues};
}

}  // namespace

Status begin_copy(ProgramImpl& program, ProgramTransfer& transfer, void* stream) {
  const ExecutableTransfer& what = *transfer.what;
  void* const there = program.addresses[what.address];
  void* const pinned = program.addresses[what.pinned];
  HostCores::Mark after;
  if (what.is_put) {
    BALEEN_TRY_ASSIGN(after, mark_of(program, stream));
  } else {
    const ProgramBeside& beside = program.beside[what.behind];
    after = {beside.done.get(), beside.begun};
  }
  ++transfer.begun;
  return program.cores->copy(what.is_put, what.is_put ? pinned : there, what.is_put ? there : pinned, what.bytes, after,
                             mark_of(transfer));
}

Status launch_beside(ProgramImpl& program, const Instruction& instruction, const baleen_launch_t& launch) {
  const BesideLaunch& what = program.executable.beside[instruction.call];
  ProgramBeside& beside = program.beside[instruction.call];
  HostCores::Launch own{
      program.executable.host_kernels[instruction.kernel].get(), launch, instruction.address_count - 1, {}, {}};
  if (what.after != BesideLaunch::kNone) own.after[0] = mark_of(program.transfers[what.after]);
  if (what.waits_for_stream) {
    BALEEN_TRY_ASSIGN(own.after[1], mark_of(program, launch.stream));
  }
  own.done = {beside.done.get(), ++beside.begun};
  program.cores->launch(own);
  return {};
}

Status join_beside(ProgramImpl& program, const Instruction& instruction, void* stream) {
  const ProgramBeside& beside = program.beside[instruction.call];
  const Device& device = *program.device;
  return device.check(device.table().stream_wait(device.handle(), stream, beside.done.get(), beside.begun));
}

void wait_for_copies(ProgramImpl& program, const Instruction& instruction) {
  const std::uint32_t after = program.executable.beside[instruction.call].after;
  if (after == BesideLaunch::kNone) return;
  const HostCores::Mark last = mark_of(program.transfers[after]);
  event_wait(*last.event, last.value);
}

void wait_beside(ProgramImpl& program, const Instruction& instruction) {
  const ProgramBeside& beside = program.beside[instruction.call];
  event_wait(*beside.done, beside.begun);
}

void settle_beside(ProgramImpl& program) {
  for (ProgramBeside& beside : program.beside) {
    event_wait(*beside.done, beside.begun);
    if (event_value(*beside.done) != BALEEN_EVENT_FAILED) continue;
    beside.done->word = 0;
    beside.begun = 0;
  }
}

}  // namespace baleen
