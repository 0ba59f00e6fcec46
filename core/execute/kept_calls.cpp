/// \file Keeping, agreeing, replaying.
#include "core/execute/kept_calls.hpp"

#include <algorithm>

#include "baleen/event.hpp"

namespace baleen {
namespace {

/// In which stretches are kept that all ranks have to agree on.
constexpr std::uint64_t kKeepingRun = 2;

void release(ProgramImpl& program, KeptStretch& stretch) {
  program.sequences.refuse(stretch);  // before the transport's part
  if (stretch.with) program.communicator->release(std::exchange(stretch.with, nullptr));
}

/// What the events of calls are to count once they have been kept.
struct Counts {
  explicit Counts(ProgramImpl& program, std::span<const Instruction> instructions)
      : program_(program), issues_(program.issues) {
    for (const Instruction& instruction : instructions)
      if (instruction.kind == Instruction::Kind::begin)
        for (ProgramCall::Slot& slot : program.calls[instruction.call].slots) begun_.emplace_back(&slot, slot.begun);
  }
  ~Counts() {
    program_.issues = issues_;
    for (const auto& [slot, begun] : begun_) slot->begun = begun;
  }
  Counts(const Counts&) = delete;

 private:
  ProgramImpl& program_;
  const std::uint64_t issues_;
  std::vector<std::pair<ProgramCall::Slot*, std::uint64_t>> begun_;
};

}  // namespace

bool may_be_kept(const ProgramImpl& program, const Instruction& instruction) {
  if (!program.communicator || !program.communicator->keeps_calls()) return false;
  const ProgramCall& call = program.calls[instruction.call];
  if (call.what->staged || is_pairwise(call.what->op) || call.what->op == BALEEN_BARRIER) return false;
  const bool is_own = instruction.behind == 0 || (instruction.behind == kAllOfCall && call.slots.size() == 1);
  return instruction.kind == Instruction::Kind::begin || is_own;
}

void keep_with_calls(ProgramImpl& program, KeptStretch& stretch, std::span<const Instruction> instructions,
                     const std::function<Status()>& enqueue) {
  Communicator& communicator = *program.communicator;
  const bool is_time = program.runs == kKeepingRun;
  stretch.state = KeptStretch::State::refused;
  if (!is_time || !communicator.begin_keeping()) return;
  const Counts counts(program, instructions);
  if (program.sequences.begin(stretch)) program.sequences.end(stretch, static_cast<bool>(enqueue()));
  if (Result<KeptCalls*> kept = communicator.end_keeping()) stretch.with = *kept;
  if (stretch.state != KeptStretch::State::waits || !stretch.with) release(program, stretch);
}

Status agree_on_kept(ProgramImpl& program) {
  if (++program.runs != kKeepingRun + 1 || !program.communicator->keeps_calls()) return {};
  std::vector<KeptCalls*> kept;
  program.sequences.each([&](KeptStretch& stretch) {
    if (stretch.state == KeptStretch::State::waits) kept.push_back(stretch.with);
  });
  BALEEN_TRY_ASSIGN(const bool agreed, program.communicator->agree_on(kept));
  program.sequences.each([&](KeptStretch& stretch) {
    if (stretch.state != KeptStretch::State::waits) return;
    if (agreed)
      stretch.state = KeptStretch::State::kept;
    else
      release(program, stretch);
  });
  return {};
}

Status replay_with_calls(ProgramImpl& program, const KeptStretch& stretch, void* stream, std::uint64_t seed,
                         std::uint64_t step) {
  const baleen_compute_t& table = program.device->table();
  void* const device = program.device->handle();
  const auto signal = [&] {
    return program.device->check(table.stream_signal(device, stream, &program.issued, ++program.issues));
  };
  BALEEN_TRY(signal());
  const EventValue done{&program.replayed, program.replays + 1}, rests{&program.rests, program.replays + 1};
  const EventValue from{&program.issued, program.issues};
  BALEEN_TRY(program.communicator->enter(*stretch.with, from, rests, done));
  ++program.replays;
  BALEEN_TRY(program.device->check(table.stream_wait(device, stream, rests.event, rests.value)));
  BALEEN_TRY(program.sequences.replay(stretch, seed, step));
  BALEEN_TRY(signal());
  return program.communicator->replayed(*stretch.with, {&program.issued, program.issues}, done);
}

bool has_open_replays(const ProgramImpl& program) {
  const auto is_open = [&](const baleen_event_t& event) {
    return event_value(event) < program.replays || event_value(event) == BALEEN_EVENT_FAILED;
  };
  return is_open(program.rests) || is_open(program.replayed);
}

// A peer that was lost behind the last of them changes nothing here.
Status check_replays(ProgramImpl& program) {
  if (program.replays == 0) return {};
  event_wait(program.replayed, program.replays);
  if (!has_open_replays(program)) return {};
  BALEEN_TRY(program.communicator->check());
  return internal("a replay of collectives failed, and the transport knows of no failure");
}

void release_kept(ProgramImpl& program) {
  program.sequences.each([&](KeptStretch& stretch) {
    if (stretch.with) release(program, stretch);
  });
}

}  // namespace baleen
