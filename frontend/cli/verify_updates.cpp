#include "frontend/cli/verify_updates.hpp"

#include <algorithm>
#include <cmath>

namespace baleen::app {
namespace {

/// How far what an update computes in fp32 may be off, as a share of what it changes: 1 - 0.999, which an optimizer may
/// compute so, is off by 5e-5 of itself.
constexpr double kUpdate = 1e-4;
/// Smaller numbers may be zero in fp32.
constexpr double kSmallest = 1e-30;

std::string cause_of(const Sketch& made, const Sketch& due) {
  if (due.norm() == 0) return "; there was nothing to change";
  if (made.norm() <= 1e-3 * due.norm()) return "; it is as before the step";
  const double factor = factor_of(made, due);
  if (std::abs(factor - 1) < 1e-3 || !near(made, due, factor)) return "";
  return "; its change is " + short_text(factor, "%.5g") + " times that of one rank";
}

}  // namespace

UpdateJudge::UpdateJudge(const Record& many, const Record& one, const Replay& replay)
    : many_(many),
      one_(one),
      replay_(replay),
      found_{Found(""), Found("parameters as updated from the same gradients (of their norms)"),
             Found("optimizer states as updated from the same gradients (of their norms)")} {
  for (std::size_t list = 0; list < Record::kLists; ++list) allowed_[list].resize(one.names[list].size());
}

double UpdateJudge::Allowed::limit(double norm) const {
  return 4 * rounding_of(BALEEN_F32) * std::sqrt(steps) * norm + kUpdate * moved + kRoundings * grown + kSmallest;
}

/// Steps whose gradients were kept.
std::size_t UpdateJudge::replayed() const {
  return replay_.record ? std::min(many_.gradients_kept.size(), replay_.record->steps.size()) : 0;
}

std::optional<std::string> UpdateJudge::compare(std::size_t i, Record::List list, std::size_t t) {
  if (i >= replayed()) return {};
  const auto before = [&](const Record& record) -> const Sketch& {
    return (i > 0 ? record.steps[i - 1].tensors : record.first)[list][t];
  };
  const Sketch &many = many_.steps[i].tensors[list][t], &one = replay_.record->steps[i].tensors[list][t];
  const Sketch made = change(before(many_), many), due = change(before(*replay_.record), one);
  Allowed& allowed = allowed_[list][t];
  ++allowed.steps;
  allowed.moved += due.norm();
  allowed.grown = std::max(allowed.grown, distance(replay_.shaken->steps[i].tensors[list][t], one));
  const double norm = std::max(one.norm(), kSmallest);
  const std::string place =
      std::string(kWhat[list]) + " `" + one_.names[list][t] + "` after step " + std::to_string(i + 1);
  if (!found_[list].see(distance(many, one) / norm, allowed.limit(norm) / norm, place)) return {};
  return *found_[list].first() + "; the gradients are as they should be" + cause_of(made, due);
}

std::optional<std::string> UpdateJudge::compare_last(Record::List list, std::size_t t, const std::string& what) {
  if (!judges_all()) return {};
  const Away away(many_.last[list][t], replay_.record->last[list][t]);
  const double norm = std::max(away.norm, kSmallest);
  if (!found_[list].see(away.distance / norm, allowed_[list][t].limit(norm) / norm, away.place(what))) return {};
  return *found_[list].first();
}

std::string UpdateJudge::note() const {
  if (!replay_.record || judges_all()) return "";
  return "updates are judged in " + std::to_string(replayed()) + " of " + std::to_string(many_.steps.size()) +
         " steps: gradients of more would take more than " + std::to_string(kKeptBytes >> 20) + " MiB\n";
}

}  // namespace baleen::app
