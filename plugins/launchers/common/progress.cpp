/// \file Compares how far ranks are with their collectives.
#include "common/progress.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace baleen::launchers {
namespace {

constexpr std::chrono::seconds kWindow{15};

}  // namespace

void Progress::see(int rank, const ProgressSnapshot& moment, Clock::time_point now) {
  hear(rank, now);
  ProgressSnapshot& before = moments_[static_cast<std::size_t>(rank)];
  if (before.passed != moment.passed) worked_ = now;
  before.passed = moment.passed;
  if (before == moment) return;
  if (const auto since = stalled_since()) usual_.saw(now - *since);
  if (before.stands_in != moment.stands_in) stands_ = now;
  before.stands_in = moment.stands_in;
  if (before == moment) return;
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
  worked_ += pause;
  stands_ += pause;
  for (auto& heard : heard_)
    if (heard) *heard += pause;
}

bool Progress::speaks(int rank, Clock::time_point now) const {
  const auto& heard = heard_[static_cast<std::size_t>(rank)];
  return heard && now - *heard < std::chrono::seconds(1);
}

bool Progress::is_in(int rank, const std::string& phase) const {
  return moments_[static_cast<std::size_t>(rank)].phase == phase;
}

bool Progress::is_silent(int rank, Clock::time_point now) const {
  return heard_[static_cast<std::size_t>(rank)] && !speaks(rank, now);
}

bool Progress::all_speak(Clock::time_point now) const {
  for (int rank = 0; rank < static_cast<int>(moments_.size()); ++rank)
    if (!speaks(rank, now)) return false;
  return true;
}

Clock::duration Progress::patience(Clock::duration least, Clock::duration most) const {
  return std::min(most, std::max({least, usual_.patience(), 20 * std::max(late_, late_before_)}));
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
  if (moments_[static_cast<std::size_t>(last())].collective < most()) return moved_;
  return all_stand() ? std::optional(std::max(moved_, stands_)) : std::nullopt;
}

bool Progress::all_stand() const {
  const auto stands = [&](const ProgressSnapshot& each) {
    return !each.stands_in.empty() && each.collective == most();
  };
  return std::ranges::all_of(moments_, stands);
}

int Progress::last() const {
  return static_cast<int>(std::ranges::min_element(moments_, {}, &ProgressSnapshot::collective) - moments_.begin());
}

std::int64_t Progress::most() const {
  return std::ranges::max_element(moments_, {}, &ProgressSnapshot::collective)->collective;
}

std::string Progress::text() const { return all_stand() ? standing_text() : waiting_text(); }

std::string Progress::standing_text() const {
  const auto in = [](const ProgressSnapshot& each) {
    return "in " + each.stands_in + (each.text().empty() ? "" : " (" + each.text() + ")");
  };
  const ProgressSnapshot& first = moments_.front();
  const auto other =
      std::ranges::find_if(moments_, [&](const ProgressSnapshot& each) { return each.stands_in != first.stands_in; });
  std::string text = "every rank stands in a collective that does not end: ";
  if (other == moments_.end())
    text += in(first);
  else
    text += "rank 0 " + in(first) + ", rank " + std::to_string(other - moments_.begin()) + " " + in(*other);
  return text + "; the transport is slow, or has lost one";
}

std::string Progress::waiting_text() const {
  std::vector<int> behind;
  for (std::size_t rank = 0; rank < moments_.size(); ++rank)
    if (moments_[rank].collective < most()) behind.push_back(static_cast<int>(rank));
  const std::string where = moments_[static_cast<std::size_t>(last())].text();
  return "waiting for " + rank_list(behind) + (where.empty() ? "" : " (" + where + ")") +
         ": others have begun collective " + std::to_string(most());
}

}  // namespace baleen::launchers
