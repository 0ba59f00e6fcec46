/// \file Plans with optimizer states, parameters, gradients and activations outside the device.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "parity/parity_run.hpp"
#include "support/losses.hpp"

namespace baleen::test {

inline std::string plan_entry(const std::string& name, const std::string& options = "") {
  return "[[plan]]\nstrategy = \"" + name + "\"\n" + options;
}

inline std::string zero(int stage) { return plan_entry("zero", "stage = " + std::to_string(stage) + "\n"); }

constexpr double kMiB = 1 << 20;

inline const MeshAxes kOne{{"data", 1}}, kTwo{{"data", 2}};

/// Of the largest matrices' 331,776 elements pieces of half a MiB have 131,072.
inline const std::vector<std::string> kLarge{"layers=1", "dim=288", "heads=2", "batch=2", "context=8", "clip=1.0"};

/// A run that is repeated with values outside the device.
struct Mix {
  std::string name;
  MeshAxes axes;
  std::string plan;
  std::vector<std::string> arguments = {};
  std::string options = "min_elements = 16\n";  ///< of the strategy
};

inline void PrintTo(const Mix& mix, std::ostream* out) { *out << mix.name; }

/// The strategy, and the section that says where states go.
inline std::string offloaded_to(const std::string& member, const std::string& options = "",
                                const std::string& strategy_options = "min_elements = 16\n") {
  return plan_entry("offload", strategy_options) + "[offload]\nplugin = \"" + member + "\"\n" + options;
}

/// Options of the strategy with which states lie outside, as good as all.
inline const std::string kStates = "min_elements = 16\n";

/// Options of the strategy with which parameters lie outside too.
inline const std::string kParameters = "min_elements = 16\nparameters = [\"*\"]\n";

/// With which gradients and activations do too, where their uses are far apart.
inline const std::string kEverything = kParameters + "gradients = [\"*\"]\nactivations = [\"*\"]\nahead = 1\n";

/// Options for a folder of its own.
inline std::string on_disk(const TemporaryFolder& folder) { return "path = \"" + folder.path() + "\"\n"; }

/// The strategy, and so many MiB of a rank in the host's memory, the rest on disks.
inline std::string in_two_places(double host_mb, const TemporaryFolder& swap, const std::string& options) {
  return plan_entry("offload", options) + "[[offload]]\nplugin = \"host\"\nbudget_mb = " + std::to_string(host_mb) +
         "\n[[offload]]\nplugin = \"nvme\"\n" + on_disk(swap);
}

/// Losses, and the file with the parameters.
inline std::pair<Losses, std::string> outcome_of(const std::string& manifest, const std::vector<std::string>& arguments,
                                                 int steps) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl", saved = folder / "saved.safetensors";
  const ProcessResult run = run_parity({"run", "--steps", std::to_string(steps), "--log-json", log, "--save", saved},
                                       "gpt", manifest, arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return {losses_in(log), read_file(saved)};
}

/// What `baleen plan` says of it.
inline nlohmann::json planned_gpt(const std::string& manifest, const std::vector<std::string>& arguments) {
  const ProcessResult result = run_parity({"plan", "--json"}, "gpt", manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return nlohmann::json::parse(result.out, nullptr, false);
}

}  // namespace baleen::test
