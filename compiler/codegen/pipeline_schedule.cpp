/// \file The order of micro-batches of this rank, from what strategies want for its coordinates.
#include <algorithm>

#include "compiler/codegen/passes.hpp"

namespace baleen {
namespace {

/// The loop that has both parts; -1 where none has.
int loop_with_parts(const Lowered& lowered) {
  for (const LoweredSection& section : lowered.sections) {
    if (section.loop < 0 || section.phase != Phase::forward) continue;
    for (const LoweredSection& other : lowered.sections)
      if (other.loop == section.loop && other.phase == Phase::backward) return section.loop;
  }
  return -1;
}

std::int64_t most_in_flight(const PipelineSchedule& order) {
  std::int64_t most = 1, now = 0;
  for (const PipelineSchedule::Action& action : order.actions) {
    now += action.pass == Phase::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

Status apply_pipeline_schedule(const ScheduledGraph& scheduled, Lowered& lowered) {
  const PipelineSchedule* own = nullptr;
  for (const PipelineSchedule& order : scheduled.pipelines) {
    if (lowered.at[static_cast<std::size_t>(order.axis)] != order.coordinate) continue;
    if (own) return unsupported("two strategies order the micro-batches of one rank");
    own = &order;
  }
  const int loop = loop_with_parts(lowered);
  if (!own || loop < 0) return {};
  lowered.pipeline.loop = loop;
  lowered.pipeline.in_flight = most_in_flight(*own);
  for (const PipelineSchedule& order : scheduled.pipelines)
    lowered.pipeline.slots = std::max(lowered.pipeline.slots, most_in_flight(order));
  for (const PipelineSchedule::Action& action : own->actions)
    for (std::uint32_t s = 0; s < lowered.sections.size(); ++s)
      if (lowered.sections[s].loop == loop && lowered.sections[s].phase == action.pass)
        lowered.pipeline.actions.push_back({s, action.micro_batch});
  return {};
}

}  // namespace baleen
