/// \file Counts what each rank of a manifest would hold and send, and whether it fits. Runs nothing.
#pragma once
#include "compiler/plan/job.hpp"
#include "frontend/engine/plan_report.hpp"
#include "frontend/engine/prepare.hpp"

namespace baleen::app {

/// `exact`: ranks of different roles in calls are classes of their own.
Result<PlanReport> plan_job(Job job, const ScriptOptions& options, const Setup& setup, const Prepared& prepared,
                            bool exact);

/// The same; where the plan does not fit, other plans of the job are tried (advice.hpp).
Result<PlanReport> plan_job_with_advice(Job job, const ScriptOptions& options, const Setup& setup,
                                        const Prepared& prepared, bool exact);

/// How fast the offload backend of the manifest is on this machine, measured for about `seconds`; added to the classes
/// of the report. Refused where no class moves anything there.
Status measure_offload(PlanReport& report, const ScriptOptions& options, const Setup& setup, double seconds);

}  // namespace baleen::app
