/// \file Plans a job again where a rank's device has too little memory and a strategy can do something about it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "compiler/plan/plan.hpp"
#include "core/launch/rank_link.hpp"
#include "core/runtime/session_memory.hpp"

namespace baleen::app {

/// Bytes of a device, or of its host: of the rank that needs most, and what the rank lacks that lacks most.
struct MemoryNeed {
  std::uint64_t total = 0, lacking = 0;

  /// Of planned bytes by kind, where a rank may have so many.
  static MemoryNeed of(const std::map<std::string, std::uint64_t>& planned, std::uint64_t have);
  /// Becomes what the rank lacks of its host's memory, where that is more than what it lacks so far. What moves there
  /// frees nothing of it.
  void heed(const HostNeed& need, std::uint64_t available, std::int64_t local_ranks);
  void cover(const MemoryNeed& other);
};

using MakePlan = std::function<Result<Plan>(Job)>;
using CountNeed = std::function<Result<MemoryNeed>(const Plan&)>;

/// The first plan with which no rank lacks memory, or the last one where strategies have done all they can. `count` is
/// asked of each plan in which a strategy heeds the lack, and of no other. Alike on all ranks where `count` is.
Result<Plan> plan_to_fit(Job job, const MakePlan& make, const CountNeed& count);

/// Collective over all ranks: the most of any. `round` tells calls apart.
Result<MemoryNeed> most_of(RankLink& link, const MemoryNeed& own, int round);

}  // namespace baleen::app
