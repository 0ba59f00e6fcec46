/// \file A real training on several ranks, as a user starts it.
#pragma once
#include <string>
#include <vector>

namespace baleen::test {

inline std::vector<std::string> baleen_run(const std::string& script, int ranks) {
  return {std::string(BALEEN_BUILD_DIR) + "/bin/baleen",
          "run",
          script,
          "--set",
          "mesh.data=" + std::to_string(ranks),
          "--set",
          "plan=[{strategy=\"data\"}]"};
}

/// The smallest example, for so many steps.
inline std::vector<std::string> training(int ranks, int steps) {
  auto command = baleen_run(std::string(BALEEN_SOURCE_DIR) + "/examples/01_hello/train.lua", ranks);
  command.insert(command.end(), {"--steps", std::to_string(steps)});
  return command;
}

}  // namespace baleen::test
