/// \file Compares how far ranks are with their collectives.
#include "common/progress.hpp"

#include <algorithm>
#include <utility>

namespace baleen::launchers {
namespace {

constexpr std::chrono::seconds kWindow{15};
constexpr std::chrono::milliseconds kSoonUsual{500};

}  // namespace

void Progress::see(int rank, const ProgressSnapshot& moment, Clock::time_point now) {
  hear(rank, now);
  ProgressSnapshot& before = moments_[static_cast<std::size_t>(rank)];
  if (before == moment) return;
  // A wait becomes usual by and by: one that is far longer than those before counts only when it has come again.
  if (const auto since = stalled_since()) usual_ = std::max(usual_, std::min(now - *since, 2 * usual_ + kSoonUsual));
  before = moment;
  moved_ = now;
  compare_runs(rank, moment);
}

void Progress::hear(int rank, Clock::time_point now) {
  std::optional<Clock::time_point>& heard = heard_[static_cast<std::size_t>(rank)];
  if (heard) late_ = std::max(late_, now - *heard - Timeouts::kBeat);
  heard = now;
  if (now - window_ < kWindow) return;
  window_ = now;
  late_before_ = std::exchange(late_, {});
}

void Progress::forgive(Clock::duration pause) {
  moved_ += pause;
  for (auto& heard : heard_)
    if (heard) *heard += pause;
}

bool Progress::speaks(int rank, Clock::time_point now) const {
  const auto& heard = heard_[static_cast<std::size_t>(rank)];
  return heard && now - *heard < std::chrono::seconds(1);
}

Clock::duration Progress::patience(Clock::duration least, Clock::duration most) const {
  return std::min(most, std::max({least, 2 * usual_, 20 * std::max(late_, late_before_)}));
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
