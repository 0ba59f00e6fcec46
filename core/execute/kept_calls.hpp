/// \file Stretches with collectives of the transport, where it takes part in the device's sequences. All ranks replay
/// them, or none: they are kept in a program's second run and agreed on before its third.
#pragma once
#include <functional>
#include <span>

#include "core/execute/program_impl.hpp"

namespace baleen {

/// Whether a stretch may hold this end of a call, if it has both.
bool may_be_kept(const ProgramImpl& program, const Instruction& instruction);
/// Keeps a stretch while `enqueue` enqueues it; nothing of it runs, and the program's events count as before. What
/// cannot be kept is refused.
void keep_with_calls(ProgramImpl& program, KeptStretch& stretch, std::span<const Instruction> instructions,
                     const std::function<Status()>& enqueue);
/// The program begins to run, as on all ranks.
Status agree_on_kept(ProgramImpl& program);
Status replay_with_calls(ProgramImpl& program, const KeptStretch& stretch, void* stream, std::uint64_t seed,
                         std::uint64_t step);
/// Whether a replay is under way or has failed.
bool has_open_replays(const ProgramImpl& program);
/// The stream has come to its end: whether the collectives of replays did so too before anything failed.
Status check_replays(ProgramImpl& program);
/// Lets go of all that was kept.
void release_kept(ProgramImpl& program);

}  // namespace baleen
