/// \file Runs of the GPT of tests/parity with the strategy `sequence` on a mesh.
#pragma once
#include <filesystem>

#include "parity/parity_run.hpp"

namespace baleen::test {

/// One entry of the plan: a member, and lines of options.
struct PlanEntry {
  std::string strategy, options = {};
};
using PlanEntries = std::vector<PlanEntry>;

inline PlanEntry ring() { return {"sequence", "mode = \"ring\"\n"}; }
inline PlanEntry ulysses() { return {"sequence", "mode = \"ulysses\"\n"}; }
inline PlanEntry megatron() { return {"sequence", "mode = \"megatron\"\n"}; }

inline std::string sequence_manifest(const MeshAxes& axes, const PlanEntries& plan) {
  std::string entries;
  for (const PlanEntry& entry : plan) entries += "[[plan]]\nstrategy = \"" + entry.strategy + "\"\n" + entry.options;
  return manifest_of(axes, entries);
}

/// What the closing record of a run of one step in fp32 says of each rank: the facts `prefix`name, by name.
inline std::vector<std::map<std::string, double>> facts_of_ranks(const std::string& prefix, const MeshAxes& axes,
                                                                 const PlanEntries& plan,
                                                                 const std::vector<std::string>& arguments) {
  int ranks = 1;
  for (const auto& [name, size] : axes) ranks *= size;
  std::vector<std::map<std::string, double>> all;
  for (const auto& account : account_of("gpt", sequence_manifest(axes, plan), ranks, arguments)) {
    auto& own = all.emplace_back();
    for (const auto& [name, number] : account)
      if (name.starts_with(prefix)) own[name.substr(prefix.size())] = number;
  }
  return all;
}

}  // namespace baleen::test
