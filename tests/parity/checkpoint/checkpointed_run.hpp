/// \file Runs that are saved and resumed, and what a checkpoint says of the state that it holds.
#pragma once
#include <nlohmann/json.hpp>

#include "parity/parity_run.hpp"

namespace baleen::test {

/// Where ranks are and how they split the work.
struct SplitWork {
  friend void PrintTo(const SplitWork& split, std::ostream* out) { *out << split.name; }
  std::string name;
  MeshAxes axes;  ///< none: one rank, and no manifest
  std::string plan = {};
  std::vector<std::string> arguments = {};  ///< of the script

  std::string manifest() const { return axes.empty() ? plan : manifest_of(axes, plan); }
};

inline std::string strategy(const std::string& name, const std::string& more = "") {
  return "[[plan]]\nstrategy = \"" + name + "\"\n" + more;
}

/// A run of this folder's model. `checkpoint`: the section of that name, without its title.
inline ProcessResult run_saved(const SplitWork& split, const std::string& checkpoint,
                               const std::vector<std::string>& options = {},
                               const std::vector<std::string>& arguments = {}) {
  const TemporaryFolder folder;
  std::string section = checkpoint.empty() ? "" : "[checkpoint]\n" + checkpoint;
  std::vector<std::string> words{"run", source_dir() + "/tests/parity/checkpoint/model.lua", "--manifest",
                                 folder.write("ranks.toml", section + split.manifest())};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
  words.insert(words.end(), split.arguments.begin(), split.arguments.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  ProcessOptions process;
  process.limit = std::chrono::minutes(2);
  return run_baleen(words, process);
}

inline std::string in_folder(const std::string& folder) { return "folder = \"" + folder + "\"\n"; }

/// What `baleen checkpoint inspect` says.
inline nlohmann::json inspected(const std::string& checkpoint) {
  const ProcessResult result = run_baleen({"checkpoint", "inspect", checkpoint, "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out, nullptr, false);
}

/// All that decides how a run goes on: each tensor's digest, the place in the data, the steps.
inline std::string state_of(const std::string& checkpoint) {
  const nlohmann::json all = inspected(checkpoint);
  if (!all.is_object()) return "unreadable " + checkpoint;
  const nlohmann::json& facts = all["facts"];
  return facts["digests"].get<std::string>() + " " + facts["step"].get<std::string>() + " " +
         facts["data_position"].get<std::string>();
}

/// A run that is resumed at step 5 ends as the whole one does, and what it saved is intact.
inline void expect_same_bits_when_resumed(const SplitWork& split) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole", resumed = folder / "resumed";
  const ProcessResult first = run_saved(split, in_folder(whole) + "every = 5\nkeep = 0\n");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const ProcessResult second = run_saved(split, in_folder(resumed), {"--resume", whole + "/step-000000005"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.err.find("after step 5"), std::string::npos) << second.err;
  EXPECT_EQ(state_of(resumed), state_of(whole));
  EXPECT_NE(state_of(whole + "/step-000000005"), state_of(whole));
  const ProcessResult intact = run_baleen({"checkpoint", "verify", resumed});
  EXPECT_EQ(intact.exit_code, 0) << intact.err;
}

}  // namespace baleen::test
