/// \file `baleen run` over several ranks: which process starts them, what they are told, and how their end is told.
#pragma once
#include "baleen/result.hpp"
#include "core/launch/launcher.hpp"
#include "frontend/cli/commands.hpp"

namespace baleen::app {

/// Whether this process is to have the ranks started: the manifest has several, and this process is none of them.
bool starts_ranks(const Setup& setup);

/// Checks all that is known before the script runs (the script is there; members, options, plugins), then has
/// the manifest's ranks started with this process's own command and waits for them. Returns the exit code.
int launch_run(const ScriptOptions& options, const Setup& setup);
/// The same for ranks that only talk.
int launch_run(const BenchOptions& options, const Setup& setup);

/// Says in one line how the ranks ended, unless another host does; returns the exit code. Where a signal ended them
/// all, it ends this process too.
int report(const Log& log, const Outcome& outcome);

}  // namespace baleen::app
