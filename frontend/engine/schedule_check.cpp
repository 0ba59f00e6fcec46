/// \file Calls each schedule at some steps.
#include "frontend/engine/schedule_check.hpp"

#include "frontend/lua/script_error.hpp"

namespace baleen::app {
namespace {

Status check(const ScalarSpec& scalar, std::int64_t step) {
  try {
    return scalar.check(scalar.schedule(step), step);
  } catch (const ScriptError& error) {
    return error.error();
  }
}

}  // namespace

std::set<std::int64_t> looked_at_steps(std::int64_t steps) {
  const auto after = [steps](std::int64_t step) {
    return step < 16 ? step + 1 : steps - step <= step / 2 ? steps : step + step / 2;
  };
  std::set<std::int64_t> list;
  for (std::int64_t step = 0; step < steps; step = after(step)) list.insert(step);
  if (steps > 0) list.insert(steps - 1);
  return list;
}

Status check_schedules(const Plan& plan, std::int64_t steps) {
  for (const PlannedGraph& program : plan.graphs) {
    if (program.role != GraphRole::train) continue;
    for (const ScalarSpec& scalar : program.scalars)
      for (const std::int64_t step : looked_at_steps(steps)) BALEEN_TRY(check(scalar, step));
  }
  return {};
}

}  // namespace baleen::app
