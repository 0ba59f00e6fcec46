/// \file `baleen run`: trains, on one rank or as a launcher of several.
#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/engine/accounting.hpp"
#include "frontend/engine/assembly.hpp"

namespace baleen::app {
namespace {

/// A mistake in a callback, or the loss of another rank, must not cost what was trained: it is saved beside. The others
/// of several ranks may be anywhere, so none is asked; where parts of parameters lie there, nothing can be saved.
/// Parameters that have become NaN, or of which a failed step has updated some, are worth nothing.
Status rescued(Run& run, const Setup& setup, const Error& why) {
  const auto rescue = [&](bool all_do) {
    const Status possible = run.rescue(all_do);
    if (possible || possible.error().code == BALEEN_PEER_LOST) return;
    setup.log.warning("the parameters after step " + std::to_string(run.session().progress()) +
                      " are not saved: " + possible.error().text());
  };
  // All ranks have taken the step back that became NaN.
  if (run.session().was_undone() && run.session().progress() > 0) rescue(true);
  if (setup.link && gathers_parameters(run.session())) return why;
  if (run.session().progress() == 0 || !run.session().is_whole()) return why;
  if (why.code != BALEEN_INTERRUPTED && why.code != BALEEN_DAMAGED) rescue(false);
  return why;
}

Status run(const RunOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  RunFlags flags{options.steps, options.passes};
  flags.command = "run";
  flags.save = options.save.string();
  flags.saves = flags.signals = true;
  flags.resume = options.resume;
  flags.allow_missing = options.parts.allow_missing;
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared), flags, true));
  if (!setup.link || setup.link->place().rank == 0)
    for (const std::string& doubt : run->script().doubts()) setup.log.warning(doubt);
  run->session().start();
  if (const Status trained = run->train(*run); !trained) return rescued(*run, setup, trained.error());
  BALEEN_TRY(run->save_end());
  BALEEN_TRY_ASSIGN(auto facts, account(run->session(), setup.link));
  run->session().finish(std::move(facts));
  return run->finish_monitors();
}

/// Rank 0 saves, on the first host: nobody should learn at the end of a training that it cannot.
bool saves_here(const RunOptions& options, const Setup& setup) {
  return !options.save.empty() && !setup.link && options.host.index.value_or(0) == 0;
}

}  // namespace

int run_command(const RunOptions& options, const Setup& setup) {
  if (saves_here(options, setup))
    if (const Status possible = check_saving(setup.registry, options.save.string()); !possible)
      return report(setup.log, possible.error());
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, run(options, setup), setup.link);
}

}  // namespace baleen::app
