/// \file `baleen secret`: a new file for the hosts of a job that are started by hand.
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/join.hpp"

namespace baleen::app {

int secret_command(const SecretOptions& options, const Setup& setup) {
  return conclude(setup.log, make_secret(setup, options.file.string()), setup.link);
}

}  // namespace baleen::app
