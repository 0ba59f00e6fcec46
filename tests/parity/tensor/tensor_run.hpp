/// \file Runs of the parity scripts with the strategy `tensor` on a mesh.
#pragma once
#include <numeric>
#include <utility>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// Axes with their sizes, outermost first.
using MeshAxes = std::vector<std::pair<std::string, int>>;

inline std::string tensor_manifest(const MeshAxes& axes, const std::string& options) {
  int ranks = 1;
  std::string sizes, order;
  for (const auto& [name, size] : axes) {
    ranks *= size;
    sizes += name + " = " + std::to_string(size) + "\n";
    order += (order.empty() ? "\"" : ", \"") + name + "\"";
  }
  return "[cluster]\nhosts = [{ name = \"localhost\", ranks = " + std::to_string(ranks) + " }]\n[mesh]\n" + sizes +
         "order = [" + order + "]\n[[plan]]\nstrategy = \"tensor\"\n" + options;
}

/// `baleen COMMAND SCRIPT` of tests/parity with arguments of its own ("heads=4").
inline ProcessResult run_tensor(std::vector<std::string> command, const std::string& script,
                                const std::string& manifest, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::vector<std::string> words{command[0], std::string(BALEEN_SOURCE_DIR "/tests/parity/") + script + ".lua",
                                 "--manifest", folder.write("ranks.toml", manifest)};
  words.insert(words.end(), command.begin() + 1, command.end());
  words.emplace_back("--");
  if (script == "gpt") words.insert(words.end(), {"--data", BALEEN_SOURCE_DIR "/tests/golden/whales.txt"});
  for (const std::string& word : arguments) words.push_back("--" + word);
  ProcessOptions options;
  options.limit = std::chrono::minutes(4);
  return run_baleen(words, options);
}

}  // namespace baleen::test
