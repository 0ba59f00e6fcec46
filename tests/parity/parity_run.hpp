/// \file Runs of the parity scripts on a mesh, by a plan in the manifest.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"
#include "support/verified.hpp"

namespace baleen::test {

/// Axes with their sizes, outermost first.
using MeshAxes = std::vector<std::pair<std::string, int>>;

/// `plan`: [[plan]] entries as TOML.
inline std::string manifest_of(const MeshAxes& axes, const std::string& plan) {
  int ranks = 1;
  std::string sizes, order;
  for (const auto& [name, size] : axes) {
    ranks *= size;
    sizes += name + " = " + std::to_string(size) + "\n";
    order += (order.empty() ? "\"" : ", \"") + name + "\"";
  }
  return "[cluster]\nhosts = [{ name = \"localhost\", ranks = " + std::to_string(ranks) + " }]\n[mesh]\n" + sizes +
         "order = [" + order + "]\n" + plan;
}

/// `baleen COMMAND SCRIPT` of tests/parity with arguments of its own ("heads=4").
inline ProcessResult run_parity(std::vector<std::string> command, const std::string& script,
                                const std::string& manifest, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  std::vector<std::string> words{command[0], source_dir() + "/tests/parity/" + script + ".lua", "--manifest",
                                 folder.write("ranks.toml", manifest)};
  words.insert(words.end(), command.begin() + 1, command.end());
  words.emplace_back("--");
  if (script.ends_with("gpt")) words.insert(words.end(), {"--data", source_dir() + "/tests/golden/whales.txt"});
  for (const std::string& word : arguments) words.push_back("--" + word);
  ProcessOptions options;
  options.limit = std::chrono::minutes(4);
  return run_baleen(words, options);
}

/// A strategy that the manifest names, or that works along an axis of its name, and that this tree is configured
/// without; else "".
inline std::string missing_strategy(const std::string& manifest) {
  const std::string named = "strategy = \"";
  for (auto at = manifest.find(named); at != std::string::npos; at = manifest.find(named, at)) {
    at += named.size();
    const std::string name = manifest.substr(at, manifest.find('"', at) - at);
    if (!has_plugin("strategy", name)) return name;
  }
  for (const std::string name : {"data", "tensor", "sequence"})
    if (manifest.find("\n" + name + " = ") != std::string::npos && !has_plugin("strategy", name)) return name;
  return {};
}

/// `baleen verify` finds no difference between the ranks of the manifest and one. Skips the test where a
/// strategy is not there.
inline void verify_parity(const std::string& script, const std::string& manifest,
                          const std::vector<std::string>& arguments) {
  if (const std::string missing = missing_strategy(manifest); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  SCOPED_TRACE(manifest);
  expect_equal(run_parity({"verify"}, script, manifest, arguments));
}

/// What the closing record in a run's log says of each rank.
inline std::vector<std::map<std::string, double>> accounts_in(const std::string& log, int ranks) {
  std::vector<std::map<std::string, double>> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string key = "\"rank." + std::to_string(rank) + ".";
    for (std::size_t at = log.find(key); at != std::string::npos; at = log.find(key, at + 1)) {
      const std::size_t name = at + key.size(), end = log.find('"', name);
      all[static_cast<std::size_t>(rank)][log.substr(name, end - name)] = std::stod(log.substr(end + 2));
    }
  }
  return all;
}

/// What the closing record of a run says of each rank ("sent_bytes.all_reduce.data", "planned_bytes.parameters", ...).
inline std::vector<std::map<std::string, double>> account_of(const std::string& script, const std::string& manifest,
                                                             int ranks, const std::vector<std::string>& arguments,
                                                             int steps = 1,
                                                             const std::vector<std::string>& options = {}) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  std::vector<std::string> command{"run", "--steps", std::to_string(steps), "--log-json", log};
  command.insert(command.end(), options.begin(), options.end());
  const ProcessResult result = run_parity(std::move(command), script, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  return accounts_in(read_file(log), ranks);
}

/// A name for a test: letters, digits and underscores.
inline std::string test_name(const std::string& prefix, const MeshAxes& axes, const std::string& script,
                             const std::vector<std::string>& arguments) {
  std::string name = prefix;
  for (const auto& [axis, size] : axes) name += "_" + axis + std::to_string(size);
  name += "_" + script;
  for (const std::string& word : arguments) name += "_" + word;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

}  // namespace baleen::test
