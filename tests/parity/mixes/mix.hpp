/// \file One mix of strategies on a mesh, and the manifest that asks for it.
#pragma once
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
                                   (mix.also.empty() ? "" : "extra_axes = \"" + mix.also + "\"\n"));
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
  if (name.empty()) return "one";
  name.pop_back();
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

// In one word: the names of tests have it, and CMake lists those.
inline void PrintTo(const Mix& mix, std::ostream* out) { *out << name_of(mix); }

}  // namespace baleen::test
