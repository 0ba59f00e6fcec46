/// \file Wishes for all axes at once, and what a placed graph sends, summed up.
#pragma once
#include "compiler/placement/placement.hpp"

namespace baleen::test {

/// A pin of every axis.
inline Pin pin_to(const Layout& layout) {
  Pin pin;
  pin.placements.assign(layout.begin(), layout.end());
  return pin;
}

/// One collective that a plan runs in a step (of one micro-batch, where it stands in a loop).
struct Transfer {
  Phase phase = Phase::forward;
  std::string axis;  ///< several are joined by "+"
  std::string kind;  ///< a CollectiveOp's name, "internal", or an offer's name
  double bytes = 0;  ///< sent per rank
  ValueId value = kNone;
};
/// Conversions in the order in which they are needed, then what ops send themselves; free steps are left out. `graph`
/// is the one that was placed, before or after its conversions were inserted.
std::vector<Transfer> transfers(const Graph& graph, const PlacementRequest& request, const PlacedGraph& placed);

/// Transfers summed per phase, axis and kind.
struct TrafficRow {
  Phase phase = Phase::forward;
  std::string axis, kind;
  std::int64_t count = 0;
  double bytes = 0;
};
/// Transfers of at most `ignore` bytes (scalars) are left out. Sorted by phase, axis, kind.
std::vector<TrafficRow> traffic(const std::vector<Transfer>& transfers, double ignore = 0);
/// A line per row.
std::string table_text(const std::vector<TrafficRow>& rows);

}  // namespace baleen::test
