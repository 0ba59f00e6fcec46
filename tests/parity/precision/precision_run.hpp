/// \file Runs of the parity scripts with the strategy `precision`, and what their logs say of each step.
#pragma once
#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {

inline std::string plan_entry(const std::string& strategy, const std::string& options = {}) {
  return "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
}

inline std::string precision(const std::string& dtype, const std::string& options = {}) {
  return plan_entry("precision", "dtype = \"" + dtype + "\"\n" + options);
}

struct LoggedRun {
  ProcessResult result;
  std::string log;  ///< JSON lines

  /// A fact of each step, in order.
  std::vector<double> steps(const std::string& fact) const { return steps_in(log, fact); }
};

inline LoggedRun logged_run(const std::string& script, const std::string& manifest,
                            const std::vector<std::string>& arguments, int steps,
                            const std::vector<std::string>& options = {}) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  std::vector<std::string> command{"run", "--steps", std::to_string(steps), "--log-json", log};
  command.insert(command.end(), options.begin(), options.end());
  LoggedRun run{run_parity(std::move(command), script, manifest, arguments), {}};
  run.log = read_file(log);
  return run;
}

}  // namespace baleen::test
