/// \file `baleen plan`: prints what each rank will hold and send.
#include <cstdio>

#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/planner.hpp"

namespace baleen::app {
namespace {

/// Returns whether it fits.
Status plan(const PlanOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Prepared prepared, prepare(options, setup));
  RunFlags flags;
  flags.silent = options.json;
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  BALEEN_TRY_ASSIGN(const PlanReport report,
                    plan_job(std::move(described.script->job()), options, setup, prepared, options.exact));
  std::fputs((options.json ? to_json(report) : to_text(report)).c_str(), stdout);
  std::fflush(stdout);
  return report.verdict;
}

}  // namespace

int plan_command(const PlanOptions& options, const Setup& setup) {
  return conclude(setup.log, plan(options, setup), setup.link);
}

}  // namespace baleen::app
