/// \file How much strategies are asked for until a plan fits.
#include "frontend/engine/fit.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace baleen::app {

MemoryNeed MemoryNeed::of(const std::map<std::string, std::uint64_t>& planned, std::uint64_t have) {
  const std::uint64_t total = planned.at("total");
  return {total, total > have ? total - have : 0};
}

void MemoryNeed::heed(const HostNeed& need, std::uint64_t available, std::int64_t local_ranks) {
  const std::uint64_t have = std::max(available, need.told) / static_cast<std::uint64_t>(local_ranks);
  if (need.is_more() && need.total() > have && need.total() - have > lacking)
    *this = {need.total(), need.total() - have};
}

void MemoryNeed::cover(const MemoryNeed& other) {
  total = std::max(total, other.total);
  lacking = std::max(lacking, other.lacking);
}

Result<Plan> plan_to_fit(Job job, const MakePlan& make, const CountNeed& count) {
  constexpr double kMostTimes = 16;  // as much as lacks
  constexpr int kPatientRounds = 5;
  std::optional<MemoryNeed> first, before;
  for (int round = 1;; ++round) {
    BALEEN_TRY_ASSIGN(Plan plan, make(job));
    if (!plan.lack.is_asked) return plan;
    BALEEN_TRY_ASSIGN(const MemoryNeed need, count(plan));
    if (need.lacking == 0 || !plan.lack.could_do_more) return plan;
    if (!first) first = need;
    // What goes gives back less than its bytes: it has buffers while it is used, and may be another rank's. What it
    // gave back so far tells how much less.
    const auto asked = static_cast<double>(job.lacking_bytes);
    const double freed = static_cast<double>(first->total) - static_cast<double>(need.total);
    const double times = asked > 0 ? std::clamp(asked / std::max(freed, 1.0), 1.0, kMostTimes) : 1;
    double more = std::max(times * static_cast<double>(need.lacking), static_cast<double>(first->total) / 64);
    if (round > kPatientRounds || (before && need.lacking >= before->lacking)) more = std::max(more, asked / 2);
    constexpr double kMost = 0x1p62;
    job.lacking_bytes = static_cast<std::uint64_t>(std::min(kMost, asked + more));
    before = need;
  }
}

Result<MemoryNeed> most_of(RankLink& link, const MemoryNeed& own, int round) {
  const std::string prefix = "memory needed " + std::to_string(round) + " ";
  const auto text_of = [](const MemoryNeed& need) {
    return std::to_string(need.total) + ' ' + std::to_string(need.lacking);
  };
  const auto get = [&](const std::string& who) -> Result<MemoryNeed> {
    BALEEN_TRY_ASSIGN(const std::string text, link.get(prefix + who));
    MemoryNeed need;
    std::istringstream(text) >> need.total >> need.lacking;
    return need;
  };
  const Place& place = link.place();
  if (place.rank != 0) {
    BALEEN_TRY(link.put(prefix + std::to_string(place.rank), text_of(own)));
    return get("by most");
  }
  MemoryNeed most = own;
  for (int rank = 1; rank < place.ranks; ++rank) {
    BALEEN_TRY_ASSIGN(const MemoryNeed other, get(std::to_string(rank)));
    most.cover(other);
  }
  BALEEN_TRY(link.put(prefix + "by most", text_of(most)));
  return most;
}

}  // namespace baleen::app
