/// \file `baleen verify`: the same script on the manifest's ranks and on one, compared.
#include <cstdio>

#include "baleen/dtype.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/cli/verify_judge.hpp"
#include "frontend/engine/members.hpp"

namespace baleen::app {
namespace {

Status verify(const VerifyOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(const Record many, record(options, setup, false));
  if (setup.link && setup.link->place().rank != 0) return {};
  BALEEN_TRY_ASSIGN(const Record one, record(options, setup, true));
  if (setup.link) setup.link->at(-1, "comparing");
  const Judgement judgement = judge(many, one);
  const std::string note = order_note(setup.manifest);
  std::printf("%lld ranks and one rank, %zu steps in %s\n%s%s%s\n", static_cast<long long>(setup.manifest.ranks()),
              one.losses.size(), std::string(dtype_name(one.coarsest)).c_str(), judgement.summary.c_str(),
              note.empty() ? "" : (note + "\n").c_str(),
              judgement.difference ? "DIFFERENT" : "EQUAL within the tolerance");
  std::fflush(stdout);
  if (!judgement.difference) return {};
  return invalid("the ranks do not compute what one rank computes: see " + *judgement.difference);
}

}  // namespace

int verify_command(const VerifyOptions& options, const Setup& setup) {
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, verify(options, setup), setup.link);
}

}  // namespace baleen::app
