/// \file `baleen run`.
#include "core/app/accounting.hpp"
#include "core/app/assembly.hpp"
#include "core/app/commands.hpp"
#include "core/app/exit_code.hpp"
#include "core/app/launch_run.hpp"

namespace baleen::app {
namespace {

Status run(const RunOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared),
                                                {options.steps, false, options.print_passes}, true));
  run->session().start();
  BALEEN_TRY(run->train(*run));
  if (!options.save.empty()) BALEEN_TRY(run->save(options.save.string()));
  BALEEN_TRY_ASSIGN(auto facts, account(run->session(), setup.link));
  run->session().finish(std::move(facts));
  return {};
}

}  // namespace

int run_command(const RunOptions& options, const Setup& setup) {
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, run(options, setup), setup.link);
}

}  // namespace baleen::app
