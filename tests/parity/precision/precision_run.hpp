/// \file Runs of the parity scripts with the strategy `precision`, and what their logs say of each step.
#pragma once
#include <cmath>
#include <sstream>

#include "parity/parity_run.hpp"

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
  std::vector<double> steps(const std::string& fact) const {
    std::vector<double> numbers;
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("\"step_ms\"") == std::string::npos) continue;
      const std::string key = "\"" + fact + "\":";
      const std::size_t at = line.find(key);
      if (at == std::string::npos) continue;
      const std::string number =
          line.substr(at + key.size(), line.find_first_of(",}", at + key.size()) - at - key.size());
      numbers.push_back(number == "null" || number[0] == '"' ? NAN : std::stod(number));
    }
    return numbers;
  }
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
