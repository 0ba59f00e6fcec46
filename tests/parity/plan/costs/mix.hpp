/// \file Some of the strategies' forms beside each other: the mesh that each gets, and the plan.
#pragma once
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "parity/parity_run.hpp"

namespace baleen::test {

/// What may stand beside what. `tensor` and `zero` may stand twice, on axes of their own.
inline const std::vector<std::string>& members() {
  static const std::vector<std::string> all{"data", "zero1", "zero2", "zero3",   "1d",       "2d",
                                            "2.5d", "3d",    "ring",  "ulysses", "megatron", "precision"};
  return all;
}

struct CostMix {
  std::vector<std::string> members;  ///< in the order of the list above

  bool has(const std::string& name) const { return std::ranges::find(members, name) != members.end(); }
  std::vector<std::string> of(std::initializer_list<const char*> family) const {
    std::vector<std::string> all;
    for (const char* name : family)
      if (has(name)) all.emplace_back(name);
    return all;
  }
  std::vector<std::string> zeros() const { return of({"zero1", "zero2", "zero3"}); }
  std::vector<std::string> batches() const { return of({"data", "zero1", "zero2", "zero3"}); }
  std::vector<std::string> grids() const { return of({"1d", "2d", "2.5d", "3d"}); }
  std::vector<std::string> sequences() const { return of({"ring", "ulysses"}); }
  bool has_summa() const { return has("2d") || has("2.5d"); }
  /// Whether its strategies know enough of each other to say what they cost: of two entries of `zero`, which cuts
  /// first, no one says; `tensor` does not know that SUMMA runs on what a cube has gathered, nor that rows beside
  /// columns are cut along the tokens too.
  bool is_said() const {
    const bool is_summa_in_cube = has_summa() && has("3d"), is_beside_rows = has("megatron") && grids().size() > 1;
    return zeros().size() <= 1 && !is_summa_in_cube && !is_beside_rows;
  }
};

/// How many ranks stand along the axis of a member.
inline int ranks_of(const std::string& member) {
  return member == "2d" ? 4 : member == "2.5d" || member == "3d" ? 8 : 2;
}

struct PlannedMix {
  MeshAxes mesh;
  std::string plan;
  int ranks = 1;
};

inline PlannedMix planned_mix(const CostMix& mix) {
  PlannedMix made;
  const auto entry = [&](const std::string& strategy, const std::string& options) {
    made.plan += "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
  };
  const auto axis = [&](const std::string& name, const std::string& member) {
    made.mesh.emplace_back(name, ranks_of(member));
    made.ranks *= ranks_of(member);
    return "axis = \"" + name + "\"\n";
  };
  // Small buckets: what is gathered is of one layer at a time, as it is with large layers.
  std::vector<std::string> batch{"data", "shard", "other_shard"};
  for (const std::string& member : mix.batches()) {
    const std::string along = axis(batch.front(), member);
    batch.erase(batch.begin());
    if (member == "data")
      entry("data", along);
    else
      entry("zero", "stage = " + member.substr(4) + "\nbucket_mb = 0.1\n" + along);
  }
  std::vector<std::string> tokens{"sequence", "heads"};
  for (const std::string& member : mix.sequences()) {
    entry("sequence", "mode = \"" + member + "\"\n" + axis(tokens.front(), member));
    tokens.erase(tokens.begin());
  }
  std::vector<std::string> grid{"tensor", "grid", "third"};
  for (const std::string& member : mix.grids()) {
    entry("tensor",
          "mode = \"" + member + "\"\n" + (member == "2.5d" ? "depth = 2\n" : "") + axis(grid.front(), member));
    grid.erase(grid.begin());
  }
  if (mix.has("megatron")) {
    if (mix.grids().empty()) axis("tensor", "1d");
    entry("sequence", "mode = \"megatron\"\n");
  }
  if (mix.has("precision")) entry("precision", "dtype = \"bf16\"\n");
  return made;
}

/// "zero1_2_5d_ring".
inline std::string name_of(const CostMix& mix) {
  std::string name;
  for (const std::string& member : mix.members) name += (name.empty() ? "" : "_") + member;
  std::ranges::replace(name, '.', '_');
  return name;
}

// In one word: the names of tests have it, and CMake lists those.
inline void PrintTo(const CostMix& mix, std::ostream* out) { *out << name_of(mix); }

/// Every member, every two and every three of them.
inline std::vector<CostMix> all_mixes() {
  std::vector<CostMix> all;
  const auto& from = members();
  for (std::size_t a = 0; a < from.size(); ++a) {
    all.push_back({{from[a]}});
    for (std::size_t b = a + 1; b < from.size(); ++b) {
      all.push_back({{from[a], from[b]}});
      for (std::size_t c = b + 1; c < from.size(); ++c) all.push_back({{from[a], from[b], from[c]}});
    }
  }
  return all;
}

/// Why a mix has no meaning, in words of the refusal; "" where it has one.
inline std::string why_not(const CostMix& mix) {
  const auto grids = mix.grids();
  // Every column of activations is cut, so there is no whole row that could be scattered over the tokens.
  if (mix.has("megatron") && !grids.empty() && grids.front() != "1d")
    return "strategy `sequence` works along the whole mesh axis `tensor`, and another strategy has split it into parts";
  // Each lowers the product as a whole, for its own axes.
  if (mix.has("2d") && mix.has("2.5d")) return "two strategies want to run it in a form of their own, `summa`";
  return {};
}

/// Those that can run here: on two ranks and more, and not on too many.
inline std::vector<CostMix> mixes_of_ranks_to(int most) {
  std::vector<CostMix> all = all_mixes();
  std::erase_if(all, [&](const CostMix& mix) {
    const int ranks = planned_mix(mix).ranks;
    return !why_not(mix).empty() || ranks < 2 || ranks > most;
  });
  return all;
}

}  // namespace baleen::test
