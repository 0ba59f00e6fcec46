/// \file That schedules give what may be given, before they are needed.
#pragma once
#include <set>

#include "compiler/plan/plan.hpp"

namespace baleen::app {

/// Steps at which schedules are looked at: the first sixteen, then each 1.5 times the one before, and the last.
std::set<std::int64_t> looked_at_steps(std::int64_t steps);

/// INVALID with the script's place, the value and the step where a schedule of the training gives what it may not, or
/// fails, at one of those steps.
Status check_schedules(const Plan& plan, std::int64_t steps);

}  // namespace baleen::app
