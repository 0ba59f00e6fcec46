/// \file Updates on the host's cores beside the device, as the run of a program begins and ends them.
#pragma once
#include "core/execute/program_impl.hpp"

namespace baleen {

/// Begins the copy of what an update reads, once the stream has come here, or of what it makes, once it is over.
Status begin_copy(ProgramImpl& program, ProgramTransfer& transfer, void* stream);
/// Begins an update, as `launch` says, once what it reads is there.
Status launch_beside(ProgramImpl& program, const Instruction& instruction, const baleen_launch_t& launch);
/// The stream waits for an update.
Status join_beside(ProgramImpl& program, const Instruction& instruction, void* stream);

/// The host waits: for what an update that begins next reads, and for an update that has begun.
void wait_for_copies(ProgramImpl& program, const Instruction& instruction);
void wait_beside(ProgramImpl& program, const Instruction& instruction);
/// Behind a run that was cut short: waits for all that has begun.
void settle_beside(ProgramImpl& program);

}  // namespace baleen
