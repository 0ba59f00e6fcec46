/// \file `baleen infer`: a named program, from a file of tensors to a file of tensors.
#include <utility>

#include "frontend/checkpoint/tensor_files.hpp"
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/cli/launch_run.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/job_facts.hpp"
#include "frontend/engine/written_files.hpp"

namespace baleen::app {
namespace {

/// The one that is named, or the only one.
Result<std::string> chosen_program(const InferOptions& options, const Session& session) {
  if (!options.program.empty()) return options.program;
  const std::vector<ProgramInfo> programs = session.programs();
  if (programs.size() == 1) return programs.front().name;
  std::string names;
  for (const ProgramInfo& program : programs) names += (names.empty() ? "`" : ", `") + program.name + "`";
  if (programs.empty())
    return invalid("the job has no programs; give it `programs = { ... }`", options.script.string());
  return invalid("the job has the programs " + names + "; choose one with --program NAME", options.script.string());
}

/// With what all ranks must have alike.
Result<std::string> command_of(const InferOptions& options) {
  std::string words = "infer" + (options.program.empty() ? "" : " --program " + options.program);
  if (options.inputs.empty()) return words;
  BALEEN_TRY_ASSIGN(const std::string digest, digest_of_file(options.inputs));
  return words + " --inputs of the digest " + digest;
}

/// That the end of the work cannot fail for what could be known before.
Status check_outputs(const InferOptions& options, const Setup& setup) {
  BALEEN_TRY(
      check_written_files({{"--outputs", options.outputs}}, {{"--inputs", options.inputs}, {"--load", options.load}}));
  return check_saving(setup.registry, options.outputs.string());
}

Status infer(const InferOptions& options, const Setup& setup) {
  BALEEN_TRY_ASSIGN(Prepared prepared, prepare(options, setup));
  HostTensors inputs;
  if (!options.inputs.empty()) {
    BALEEN_TRY_ASSIGN(inputs, read_tensor_file(setup.registry, options.inputs.string()));
  }
  RunFlags flags;
  BALEEN_TRY_ASSIGN(flags.command, command_of(options));
  flags.only = GraphRole::infer;
  BALEEN_TRY_ASSIGN(const auto run, Run::create(options, setup, std::move(prepared), flags, false));
  BALEEN_TRY_ASSIGN(const std::string program, chosen_program(options, run->session()));
  BALEEN_TRY_ASSIGN(const HostTensors outputs, run->infer(program, inputs));
  if (setup.link && setup.link->place().rank != 0) return {};
  return write_tensor_file(setup.registry, options.outputs.string(), outputs);
}

}  // namespace

int infer_command(const InferOptions& options, const Setup& setup) {
  if (!setup.link && options.host.index.value_or(0) == 0)
    if (const Status possible = check_outputs(options, setup); !possible) return report(setup.log, possible.error());
  if (starts_ranks(setup)) return launch_run(options, setup);
  return conclude(setup.log, infer(options, setup), setup.link);
}

}  // namespace baleen::app
