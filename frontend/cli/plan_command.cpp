/// \file `baleen plan`: prints what each rank will hold and send, for one manifest or for several side by side.
#include "frontend/cli/commands.hpp"
#include "frontend/cli/exit_code.hpp"
#include "frontend/engine/assembly.hpp"
#include "frontend/engine/plan_compare.hpp"
#include "frontend/engine/planner.hpp"

namespace baleen::app {
namespace {

Result<PlanReport> plan_for(const PlanOptions& options, const Setup& setup, bool with_advice) {
  BALEEN_TRY_ASSIGN(const Prepared prepared, prepare(options, setup));
  RunFlags flags;
  flags.silent = options.json;
  BALEEN_TRY_ASSIGN(Described described, describe(options, setup, prepared, flags));
  Job& job = described.script->job();
  return with_advice ? plan_job_with_advice(std::move(job), options, setup, prepared, options.exact)
                     : plan_job(std::move(job), options, setup, prepared, options.exact);
}

Result<PlanReport> plan_for(const PlanOptions& options, const std::filesystem::path& manifest, const Setup& around) {
  SetupSources sources = options.sources;
  sources.manifest = manifest;
  BALEEN_TRY_ASSIGN(const Setup setup, set_up(sources, around.log, around.command));
  return plan_for(options, setup, false);
}

/// Prints; what does not fit is the first that is said.
Status print(const std::string& text, const Status& verdict) {
  const Status taken = print_output(text);
  return verdict ? taken : verdict;
}

/// Good where one of them fits; else what the first one was refused for.
Status compare(const PlanOptions& options, const Setup& around) {
  std::vector<ComparedPlan> plans;
  Status first;
  bool fits = false;
  for (const std::filesystem::path& manifest : options.manifests) {
    Result<PlanReport> report = plan_for(options, manifest, around);
    ComparedPlan& plan = plans.emplace_back(ComparedPlan{manifest.string(), {}, {}});
    if (report) {
      plan.report = std::move(*report);
      fits = fits || plan.report->verdict;
      if (first && !plan.report->verdict) first = plan.report->verdict;
    } else {
      plan.refusal = report.error();
      if (first) first = report.error();
    }
  }
  return print(options.json ? comparison_json(plans) : comparison_text(plans), fits ? Status() : first);
}

/// Returns whether it fits.
Status plan(const PlanOptions& options, const Setup& setup) {
  if (!options.manifests.empty()) return compare(options, setup);
  BALEEN_TRY_ASSIGN(PlanReport report, plan_for(options, setup, true));
  Status measured;
  if (options.measure_seconds) measured = measure_offload(report, options, setup, *options.measure_seconds);
  return print(options.json ? to_json(report) : to_text(report), report.verdict ? measured : report.verdict);
}

}  // namespace

int plan_command(const PlanOptions& options, const Setup& setup) {
  return conclude(setup.log, plan(options, setup), setup.link);
}

}  // namespace baleen::app
