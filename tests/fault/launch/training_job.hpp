/// \file A real training on several ranks, as a user starts it.
#pragma once
#include <string>
#include <vector>

#include "support/running_job.hpp"

namespace baleen::test {

inline std::vector<std::string> baleen_run(const std::string& script, int ranks) {
  return {build_dir() + "/bin/baleen", "run", script, "--set", "mesh.data=" + std::to_string(ranks), "--set",
          "plan=[{strategy=\"data\"}]"};
}

/// The smallest example, for so many steps.
inline std::vector<std::string> training(int ranks, int steps) {
  auto command = baleen_run(source_dir() + "/examples/01_hello/train.lua", ranks);
  command.insert(command.end(), {"--steps", std::to_string(steps)});
  return command;
}

/// The process of a rank, by the name it gives itself.
inline pid_t find_rank(const RunningJob& job, int rank) {
  for (const pid_t process : job.processes()) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
    if (name == "baleen rank " + std::to_string(rank)) return process;
  }
  return -1;
}

}  // namespace baleen::test
