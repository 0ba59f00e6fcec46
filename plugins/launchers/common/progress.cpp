/// \file Compares how far ranks are with their collectives.
#include "common/progress.hpp"

#include <algorithm>

namespace baleen::launchers {

void Progress::see(int rank, const ProgressSnapshot& moment, Clock::time_point now) {
  ProgressSnapshot& before = moments_[static_cast<std::size_t>(rank)];
  if (before == moment) return;
  before = moment;
  moved_ = now;
  compare_runs(rank, moment);
}

void Progress::compare_runs(int rank, const ProgressSnapshot& moment) {
  constexpr std::size_t kKept = 1024;
  if (moment.runs == 0 || divergence_) return;
  const auto [at, is_first] = runs_.try_emplace(moment.runs, Run{moment.order, moment.program, rank});
  if (runs_.size() > kKept) runs_.erase(runs_.begin());
  if (is_first || at->second.order == moment.order) return;
  const Run& other = at->second;
  const std::string one = "rank " + std::to_string(rank), two = "rank " + std::to_string(other.rank);
  const auto doing = [](const std::string& program) {
    return program.empty() ? " is at the end of the script" : " runs program `" + program + "`";
  };
  divergence_ = moment.program == other.program ? one + " has run other programs than " + two + " before the last one"
                                                : one + doing(moment.program) + " where " + two + doing(other.program);
  *divergence_ += " (run " + std::to_string(moment.runs) + " of the job's programs)";
}

std::optional<Clock::time_point> Progress::stalled_since() const {
  const std::int64_t fewest = moments_[static_cast<std::size_t>(last())].collective;
  return fewest == most() ? std::nullopt : std::optional(moved_);
}

int Progress::last() const {
  return static_cast<int>(std::ranges::min_element(moments_, {}, &ProgressSnapshot::collective) - moments_.begin());
}

std::int64_t Progress::most() const {
  return std::ranges::max_element(moments_, {}, &ProgressSnapshot::collective)->collective;
}

std::string Progress::text() const {
  std::vector<int> behind;
  for (std::size_t rank = 0; rank < moments_.size(); ++rank)
    if (moments_[rank].collective < most()) behind.push_back(static_cast<int>(rank));
  const std::string where = moments_[static_cast<std::size_t>(last())].text();
  return "waiting for " + rank_list(behind) + (where.empty() ? "" : " (" + where + ")") +
         ": others have begun collective " + std::to_string(most());
}

}  // namespace baleen::launchers
