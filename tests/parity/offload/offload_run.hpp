/// \file Plans with optimizer states, parameters, gradients and activations outside the device.
#pragma once
#include <string>

#include "parity/parity_run.hpp"

namespace baleen::test {

inline std::string plan_entry(const std::string& name, const std::string& options = "") {
  return "[[plan]]\nstrategy = \"" + name + "\"\n" + options;
}

inline std::string zero(int stage) { return plan_entry("zero", "stage = " + std::to_string(stage) + "\n"); }

/// The strategy, and the section that says where states go.
inline std::string offloaded_to(const std::string& member, const std::string& options = "",
                                const std::string& strategy_options = "min_elements = 16\n") {
  return plan_entry("offload", strategy_options) + "[offload]\nplugin = \"" + member + "\"\n" + options;
}

/// Options of the strategy with which parameters lie outside too.
inline const std::string kParameters = "min_elements = 16\nparameters = [\"*\"]\n";

/// With which gradients and activations do too, where their uses are far apart.
inline const std::string kEverything = kParameters + "gradients = [\"*\"]\nactivations = [\"*\"]\nahead = 1\n";

/// Options for a folder of its own.
inline std::string on_disk(const TemporaryFolder& folder) { return "path = \"" + folder.path() + "\"\n"; }

}  // namespace baleen::test
