/// \file Runs and plans with the strategy `recompute` beside a mix of others.
#pragma once
#include <nlohmann/json.hpp>

#include "parity/mixes/mix.hpp"
#include "support/losses.hpp"

namespace baleen::test {

/// One rank has no mesh.
inline std::string manifest_for(const Mix& mix) { return mix.mesh().empty() ? "" : manifest_of(mix); }

/// An entry of the plan; "" without the strategy.
inline std::string recompute_entry(const std::string& mode, const std::string& more = {}) {
  return mode.empty() ? "" : plan_entry("recompute", mode_option(mode) + more);
}

/// A budget of bytes, to the byte; 0: without the strategy.
inline std::string budget_entry(std::uint64_t bytes) {
  if (bytes == 0) return {};
  char text[64];
  std::snprintf(text, sizeof text, "budget_mb = %.17g\n", static_cast<double>(bytes) / 1048576);
  return recompute_entry("auto", text);
}

/// Of a GPT of six layers.
inline ProcessResult run_recompute(std::vector<std::string> command, const std::string& manifest,
                                   std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.end(), {"layers=6", "dim=32", "heads=4", "context=32"});
  return run_parity(std::move(command), "gpt", manifest, arguments);
}

/// The losses of five steps of four layers, with dropout.
inline Losses losses_of(const std::string& manifest, std::vector<std::string> arguments = {},
                        const std::vector<std::string>& options = {}) {
  const TemporaryFolder folder;
  const std::string log = folder / "log";
  arguments.insert(arguments.end(), {"layers=4", "dim=32", "heads=4", "context=16", "dropout=0.1"});
  std::vector<std::string> command{"run", "--steps", "5", "--log-json", log};
  command.insert(command.end(), options.begin(), options.end());
  const ProcessResult result = run_parity(std::move(command), "gpt", manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << manifest << result.err;
  return result.exit_code == 0 ? losses_in(log) : Losses();
}

/// The classes of ranks of a plan.
inline nlohmann::json planned_classes(const std::string& manifest, const std::vector<std::string>& arguments = {}) {
  const ProcessResult result = run_recompute({"plan", "--json"}, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << manifest << result.err;
  return result.exit_code == 0 ? nlohmann::json::parse(result.out).at("classes") : nlohmann::json::array();
}

/// The most of any rank.
inline double most_of(const nlohmann::json& classes, const char* number) {
  double most = 0;
  for (const auto& one : classes) most = std::max(most, one.value(number, 0.0));
  return most;
}

}  // namespace baleen::test
