/// \file A real training on several ranks, as a user starts it.
#pragma once
#include <string>
#include <vector>

#include "support/running_job.hpp"
#include "support/temporary_folder.hpp"

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

/// A script that trains a layer for so many steps on rows of two kinds.
inline std::string script_of_a_layer(const TemporaryFolder& folder, int steps, const std::string& more = {}) {
  return folder.write(
      "train.lua",
      "local baleen = require 'baleen'\nlocal rows = {}\n"
      "for i = 1, 64 do rows[i] = { i / 64, i % 3, i % 2 } end\n"
      "return baleen.job { data = baleen.data.table { rows = rows, held_out = 0.25 }, batch = 12, steps = " +
          std::to_string(steps) +
          ",\n"
          "  model = baleen.nn.linear { name = 'l', out = 2 }, loss = baleen.nn.cross_entropy {},\n"
          "  optimizer = baleen.optimizer('sgd', { lr = 0.01 })" +
          more + " }\n");
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
