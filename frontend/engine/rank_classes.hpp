/// \file Which ranks run alike: those whose pieces of every value have equal shapes and who play equal parts in calls.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/plan/plan.hpp"

namespace baleen {

/// Ranks whose pieces of every value have equal shapes.
struct RankClass {
  std::int64_t count = 0;
  /// Ascending stretches of ranks, first and last of each.
  std::vector<std::pair<std::int64_t, std::int64_t>> stretches;

  std::int64_t first() const { return stretches.front().first; }
};

/// Whether ranks also differ by their roles in calls.
enum class Roles {
  ignored,  ///< no: the bytes of one class are equal, but its buffers may pack more or less tightly
  apart     ///< yes: by which rank is the root of a call, and by what it picks in a local region
};

/// The classes of a plan's ranks, by their first rank. `marks` (one per rank, or none) sets ranks apart that differ in
/// something else. Cost: ranks times different (shape, layout) pairs, of which a model has few however deep it is.
std::vector<RankClass> rank_classes(const Plan& plan, Roles roles, const std::vector<std::int64_t>& marks = {});

}  // namespace baleen
