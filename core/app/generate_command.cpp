/// \file `baleen generate`.
#include "core/app/commands.hpp"
#include "core/app/exit_code.hpp"
#include "core/app/prepare.hpp"

namespace baleen::app {

int generate_command(const GenerateOptions& options, const Setup& setup) {
  Result<Prepared> prepared = prepare(options, setup);
  if (!prepared) return report(setup.log, prepared.error());
  return report(setup.log, unsupported("this build has no script host", options.script.string()));
}

}  // namespace baleen::app
