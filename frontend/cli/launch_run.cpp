/// \file From a manifest to a launch, and back to an exit code.
#include "frontend/cli/launch_run.hpp"

#include <csignal>
#include <cstdio>
#include <utility>

#include "core/launch/rank_link.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_hosts.hpp"
#include "frontend/engine/prepare.hpp"
#include "frontend/engine/threads.hpp"

namespace baleen::app {
namespace {

/// `threads`: that the user gives each rank; 0: its share.
Result<LaunchOptions> plan_launch(const RankOptions& options, const Setup& setup, int threads) {
  LaunchOptions launch;
  launch.command = setup.command;
  launch.log = setup.log;
  BALEEN_TRY(add_hosts(launch, options.host, setup));
  launch.threads = threads;
  return launch;
}

Result<LaunchOptions> plan_launch(const ScriptOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Prepared prepared, prepare(options, setup));
  return plan_launch(options, setup, threads_asked(prepared.compute.member));
}

Result<LaunchOptions> plan_launch(const BenchOptions& options, const Setup& setup) {
  BALEEN_TRY(prepare_transport(options, setup));
  return plan_launch(options, setup, 0);
}

template <class Options>
int launch_planned(const Options& options, const Setup& setup) {
  const Result<LaunchOptions> plan = plan_launch(options, setup);
  return plan ? report(setup.log, launch(*plan)) : report(setup.log, plan.error());
}

}  // namespace

bool starts_ranks(const Setup& setup) { return setup.manifest.ranks() > 1 && !setup.link; }

int launch_run(const ScriptOptions& options, const Setup& setup) { return launch_planned(options, setup); }
int launch_run(const BenchOptions& options, const Setup& setup) { return launch_planned(options, setup); }

int report(const Log& log, const Outcome& outcome) {
  if (outcome.signal) {
    std::fflush(nullptr);
    std::signal(outcome.signal, SIG_DFL);
    std::raise(outcome.signal);
  }
  if (outcome.status) return kSuccess;
  const Error& error = outcome.status.error();
  const int code = outcome.exit_code > 0 ? outcome.exit_code : exit_code(error.code);
  if (outcome.is_told) return code;
  log.failure(error.text() + (code == kOurBug ? kPleaseReport : ""));
  if (code == kOurBug) Log::dump(outcome.recorded.empty() ? log.recorded() : outcome.recorded);
  return code;
}

}  // namespace baleen::app
