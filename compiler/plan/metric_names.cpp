/// \file Names of metrics: what a run tells of a step stands beside them.
#include <algorithm>
#include <array>

#include "compiler/plan/passes.hpp"

namespace baleen {
namespace {

/// What a run tells of a step and of an evaluation, beside times ("forward_ms") and "held_out_…".
constexpr std::array kOwn = {"step",
                             "steps",
                             "rank",
                             "kind",
                             "elapsed",
                             "loss",
                             "weight",
                             "gradient_norm",
                             "mfu",
                             "seconds",
                             "units_per_second",
                             "flops_per_second",
                             "planned_bytes",
                             "memory_bytes",
                             "memory_peak_bytes"};

}  // namespace

Status check_metric_names(const Graph& train, const std::vector<ScalarSpec>& scalars, const std::string& where) {
  constexpr std::string_view kMetric = "metric.";
  for (const GraphOutput& output : train.outputs()) {
    if (!output.name.starts_with(kMetric)) continue;
    const std::string name = output.name.substr(kMetric.size());
    if (name.find('.') != name.npos) continue;  // its weight
    const bool is_own = name.starts_with("held_out_") || name.ends_with("_ms") || std::ranges::count(kOwn, name) > 0 ||
                        std::ranges::count(scalars, name, &ScalarSpec::name) > 0 ||
                        train.output(kFactPrefix + name) != kNone;
    if (is_own)
      return invalid("job: the metric `" + name + "` has a name that the run gives itself; choose another", where);
  }
  return {};
}

}  // namespace baleen
