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

std::int64_t most_in_flight(const TurnOrder& order) {
  std::int64_t most = 1, now = 0;
  for (const TurnOrder::Turn& turn : order.turns) {
    now += turn.part == Phase::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

}  // namespace

Status take_turns(const ScheduledGraph& scheduled, Lowered& lowered) {
  const TurnOrder* own = nullptr;
  for (const TurnOrder& order : scheduled.turns) {
    if (lowered.at[static_cast<std::size_t>(order.axis)] != order.coordinate) continue;
    if (own) return unsupported("two strategies order the micro-batches of one rank");
    own = &order;
  }
  const int loop = loop_with_parts(lowered);
  if (!own || loop < 0) return {};
  lowered.turns.loop = loop;
  lowered.turns.in_flight = most_in_flight(*own);
  for (const TurnOrder& order : scheduled.turns)
    lowered.turns.slots = std::max(lowered.turns.slots, most_in_flight(order));
  for (const TurnOrder::Turn& turn : own->turns)
    for (std::uint32_t s = 0; s < lowered.sections.size(); ++s)
      if (lowered.sections[s].loop == loop && lowered.sections[s].phase == turn.part)
        lowered.turns.turns.push_back({s, turn.micro_batch});
  return {};
}

}  // namespace baleen
