/// \file Plans of one script for several manifests, side by side.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frontend/engine/plan_report.hpp"

namespace baleen::app {

/// One manifest's plan, or why there is none.
struct ComparedPlan {
  std::string manifest;  ///< its path, as the user wrote it
  std::optional<PlanReport> report;
  std::optional<Error> refusal;
};

/// A column per manifest; of the ranks the largest number of each row. What does not fit or was refused stands below.
std::string comparison_text(const std::vector<ComparedPlan>& plans);
/// A list of objects: "manifest" and either what `to_json` gives, as "plan", or "refused".
std::string comparison_json(const std::vector<ComparedPlan>& plans);

}  // namespace baleen::app
