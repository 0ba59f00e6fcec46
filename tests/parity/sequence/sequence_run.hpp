/// \file Runs of the parity scripts with the strategy `sequence` on a mesh.
#pragma once
#include <map>
#include <utility>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// Axes with their sizes, outermost first.
using MeshAxes = std::vector<std::pair<std::string, int>>;

/// One entry of the plan: a member, and lines of options.
struct PlanEntry {
  std::string strategy, options = {};
};
using PlanEntries = std::vector<PlanEntry>;

inline PlanEntry ring() { return {"sequence", "mode = \"ring\"\n"}; }
inline PlanEntry ulysses() { return {"sequence", "mode = \"ulysses\"\n"}; }

inline PlanEntry megatron() { return {"sequence", "mode = \"megatron\"\n"}; }

inline std::string sequence_manifest(const MeshAxes& axes, const PlanEntries& plan) {
  int ranks = 1;
  std::string sizes, order, entries;
  for (const auto& [name, size] : axes) {
    ranks *= size;
    sizes += name + " = " + std::to_string(size) + "\n";
    order += (order.empty() ? "\"" : ", \"") + name + "\"";
  }
  for (const PlanEntry& entry : plan) entries += "[[plan]]\nstrategy = \"" + entry.strategy + "\"\n" + entry.options;
  return "[cluster]\nhosts = [{ name = \"localhost\", ranks = " + std::to_string(ranks) + " }]\n[mesh]\n" + sizes +
         "order = [" + order + "]\n" + entries;
}

/// `baleen COMMAND tests/parity/gpt.lua` with arguments of its own ("heads=4").
inline ProcessResult run_gpt(const std::vector<std::string>& command, const std::string& manifest,
                             const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::vector<std::string> words{command[0], BALEEN_SOURCE_DIR "/tests/parity/gpt.lua"};
  if (!manifest.empty()) words.insert(words.end(), {"--manifest", folder.write("ranks.toml", manifest)});
  words.insert(words.end(), command.begin() + 1, command.end());
  words.insert(words.end(), {"--", "--data", BALEEN_SOURCE_DIR "/tests/golden/whales.txt"});
  for (const std::string& word : arguments) words.push_back("--" + word);
  ProcessOptions options;
  options.limit = std::chrono::minutes(4);
  return run_baleen(words, options);
}

/// What each rank plans or sends, in one step of a real run in fp32: the facts `prefix`name, by name.
inline std::vector<std::map<std::string, double>> facts_of_ranks(const std::string& prefix, const MeshAxes& axes,
                                                                 const PlanEntries& plan,
                                                                 const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  const ProcessResult result =
      run_gpt({"run", "--steps", "1", "--log-json", log}, sequence_manifest(axes, plan), arguments);
  if (result.exit_code != 0) throw std::runtime_error(result.out + result.err);
  int ranks = 1;
  for (const auto& [name, size] : axes) ranks *= size;
  const std::string whole = read_file(log);
  std::vector<std::map<std::string, double>> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string key = "\"rank." + std::to_string(rank) + "." + prefix;
    for (std::size_t at = whole.find(key); at != std::string::npos; at = whole.find(key, at + 1)) {
      const std::size_t name = at + key.size(), end = whole.find('"', name);
      all[static_cast<std::size_t>(rank)][whole.substr(name, end - name)] = std::stod(whole.substr(end + 2));
    }
  }
  return all;
}

}  // namespace baleen::test
