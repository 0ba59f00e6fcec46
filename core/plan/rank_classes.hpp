/// \file Which ranks run alike: those whose pieces of every value have equal shapes and who play equal parts in calls.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/plan/plan.hpp"

namespace baleen {

/// Ranks whose programs take equal bytes and send equal bytes; any of them stands for all.
struct RankClass {
  std::int64_t count = 0;
  /// Ascending stretches of ranks, first and last of each.
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches;

  std::int64_t first() const { return stretches.front().first; }
};

/// The classes of a plan's ranks, by their first rank. `marks` (one per rank, or none) sets ranks apart that differ in
/// something else. Cost: ranks times different (shape, layout) pairs, of which a model has few however deep it is.
std::vector<RankClass> rank_classes(const Plan& plan, const std::vector<std::int64_t>& marks = {});

}  // namespace baleen
