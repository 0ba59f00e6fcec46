/// \file `baleen run`.
#include "core/app/assembly.hpp"
#include "core/app/commands.hpp"
#include "core/app/exit_code.hpp"

namespace baleen::app {
namespace {

Status run(const RunOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared),
                                                {options.steps, false, options.print_passes}, true));
  run->session().start();
  BALEEN_TRY(run->script().train(*run));
  if (!options.save.empty()) BALEEN_TRY(run->save(options.save.string()));
  run->session().finish();
  return {};
}

}  // namespace

int run_command(const RunOptions& options, const Setup& setup) {
  const Status status = run(options, setup);
  return status ? kSuccess : report(setup.log, status.error());
}

}  // namespace baleen::app
