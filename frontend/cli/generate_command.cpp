/// \file `baleen generate`: a trained language model continues a prompt.
#include "core/log/presentable.hpp"
#include "core/log/printed.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/assembly.hpp"

namespace baleen::app {
namespace {

Status generate(const GenerateOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  RunFlags flags;
  flags.data.takes_learned = true;
  flags.generate = true;
  flags.only = GraphRole::infer;
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared), flags, false));
  if (setup.manifest.ranks() > 1)
    setup.log.info("generate runs on one rank; the manifest's " + std::to_string(setup.manifest.ranks()) +
                   " are for training");
  BALEEN_TRY_ASSIGN(const std::string text,
                    run->script().generate(*run, {options.prompt, options.tokens, options.temperature, options.top_k,
                                                  options.top_p, options.stop}));
  print_text(presentable(text) + "\n");
  return {};
}

}  // namespace

int generate_command(const GenerateOptions& options, const Setup& setup) {
  const Status status = generate(options, setup);
  return status ? kSuccess : report(setup.log, status.error());
}

}  // namespace baleen::app
