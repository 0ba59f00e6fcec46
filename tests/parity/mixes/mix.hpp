/// \file One mix of strategies on a mesh, and the manifest that asks for it.
#pragma once
#include <filesystem>
#include <ostream>

#include "parity/parity_run.hpp"

namespace baleen::test {

/// Sizes of the axes `data`, `sequence` and `tensor`, and what works along them; "" and 0: nothing does.
struct Mix {
  int data = 1, sequence = 1, tensor = 1;
  int stage = 0;               ///< of `zero`, which then works along `data` in place of the strategy `data`
  std::string also = {};       ///< the axis along which `zero` cuts too
  std::string attention = {};  ///< the mode of `sequence`: ulysses, ring
  std::string products = {};   ///< the mode of `tensor`
  int depth = 2;               ///< in 2.5d
  bool megatron = false;       ///< `sequence` in mode megatron on the axis `tensor`
  std::string order = "data sequence tensor";

  int ranks() const { return data * sequence * tensor; }
  MeshAxes mesh() const {
    MeshAxes axes;
    std::string rest = order + " ";
    while (!rest.empty()) {
      const std::string name = rest.substr(0, rest.find(' '));
      rest.erase(0, name.size() + 1);
      const int size = name == "data" ? data : name == "sequence" ? sequence : tensor;
      if (size > 1 || (name == "data" && stage > 0)) axes.emplace_back(name, size);
    }
    return axes;
  }
};

inline std::string plan_entry(const std::string& strategy, const std::string& options = {}) {
  return "[[plan]]\nstrategy = \"" + strategy + "\"\n" + options;
}

inline std::string mode_option(const std::string& mode) { return "mode = \"" + mode + "\"\n"; }

inline std::string manifest_of(const Mix& mix) {
  std::string plan;
  if (mix.stage > 0)
    plan += plan_entry("zero", "stage = " + std::to_string(mix.stage) + "\n" +
                                   (mix.also.empty() ? "" : "also = \"" + mix.also + "\"\n"));
  else if (mix.data > 1)
    plan += plan_entry("data");
  if (mix.sequence > 1) plan += plan_entry("sequence", mode_option(mix.attention));
  if (mix.tensor > 1)
    plan += plan_entry("tensor", mode_option(mix.products) +
                                     (mix.products == "2.5d" ? "depth = " + std::to_string(mix.depth) + "\n" : ""));
  if (mix.megatron) plan += plan_entry("sequence", mode_option("megatron"));
  return manifest_of(mix.mesh(), plan);
}

/// "zero2also_data2_ring2_1d2_megatron".
inline std::string name_of(const Mix& mix) {
  std::string name;
  if (mix.stage > 0) name += "zero" + std::to_string(mix.stage) + (mix.also.empty() ? "_" : "also_");
  for (const auto& [axis, size] : mix.mesh())
    name += (axis == "data"       ? axis
             : axis == "sequence" ? mix.attention
                                  : "t" + mix.products) +
            "_" + std::to_string(size) + "_";
  if (mix.megatron) name += "megatron_";
  name.pop_back();
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

/// A strategy that the mix needs and this tree is built without; else "".
inline std::string missing_strategy(const Mix& mix) {
  for (const auto& [name, needed] :
       {std::pair{"data", mix.data > 1 && mix.stage == 0}, std::pair{"zero", mix.stage > 0},
        std::pair{"sequence", mix.sequence > 1 || mix.megatron}, std::pair{"tensor", mix.tensor > 1}})
    if (needed &&
        !std::filesystem::exists(build_dir() + "/lib/baleen/plugins/baleen_strategy_" + std::string(name) + ".so"))
      return name;
  return {};
}

// In one word: the names of tests have it, and CMake lists those.
inline void PrintTo(const Mix& mix, std::ostream* out) { *out << name_of(mix); }

/// `baleen verify --checked` finds no difference between the mix and one rank.
inline void expect_equal(const Mix& mix, const std::string& script, const std::vector<std::string>& arguments) {
  const ProcessResult result = run_parity({"verify", "--checked"}, script, manifest_of(mix), arguments);
  EXPECT_EQ(result.exit_code, 0) << manifest_of(mix) << result.out << result.err;
  EXPECT_NE(result.out.find("20 steps in fp64"), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("EQUAL"), std::string::npos) << result.out;
}

}  // namespace baleen::test
