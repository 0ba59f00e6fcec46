#include "frontend/cli/verify_updates.hpp"

#include <algorithm>
#include <cmath>

namespace baleen::app {
namespace {

/// How far what an update computes in fp32 may be off, as a share of what it changes, or makes of a state: 1 - 0.999,
/// which an optimizer may compute so, is off by 5e-5 of itself.
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

std::size_t UpdateJudge::replayed() const {
  if (!replay_.record) return 0;
  return std::min({many_.kept.size(), replay_.record->steps.size(), replay_.shaken->steps.size()});
}

bool UpdateJudge::judges_all() const { return replayed() > 0 && replayed() == many_.steps.size(); }

/// A parameter begins each step as the ranks' does; a state goes on from its own.
double UpdateJudge::limit(Record::List list, std::size_t t, double norm) const {
  const Allowed& allowed = allowed_[list][t];
  const double steps = list == Record::parameters ? 1 : allowed.steps;
  const double rounded = rounding_of(BALEEN_F32) * (4 * std::sqrt(steps) + (list == Record::parameters ? 0 : steps));
  const double computed = list == Record::parameters ? allowed.moved : std::max(allowed.moved, norm);
  return rounded * norm + kUpdate * computed + kRoundings * allowed.grown + kSmallest;
}

std::optional<std::string> UpdateJudge::compare(std::size_t i, Record::List list, std::size_t t,
                                                const std::string& after) {
  if (i >= replayed()) return {};
  const Sketch &many = many_.steps[i].tensors[list][t], &one = replay_.record->steps[i].tensors[list][t];
  // The ranks' pieces of what there was at first are not put together; it was the same.
  const Sketch& first = replay_.record->first[list][t];
  const Sketch& before = i > 0 ? many_.steps[i - 1].tensors[list][t] : first;
  const Sketch& due_before = i == 0                       ? first
                             : list == Record::parameters ? before
                                                          : replay_.record->steps[i - 1].tensors[list][t];
  const Sketch made = change(before, many), due = change(due_before, one);
  Allowed& allowed = allowed_[list][t];
  const double grown = distance(replay_.shaken->steps[i].tensors[list][t], one);
  ++allowed.steps;
  allowed.moved = due.norm();
  allowed.grown = list == Record::parameters ? grown : std::max(allowed.grown, grown);
  const double norm = std::max(one.norm(), kSmallest);
  const std::string place = std::string(kWhat[list]) + " `" + one_.names[list][t] + "`" + after;
  if (!found_[list].see(distance(many, one) / norm, limit(list, t, norm) / norm, place)) return {};
  return *found_[list].first() + "; made from the same gradients" + cause_of(made, due);
}

std::optional<std::string> UpdateJudge::compare_last(Record::List list, std::size_t t, const std::string& what) {
  if (!judges_all()) return {};
  const Away away(many_.last[list][t], replay_.record->last[list][t]);
  const double norm = std::max(away.norm, kSmallest);
  if (!found_[list].see(away.distance / norm, limit(list, t, norm) / norm, away.place(what))) return {};
  return *found_[list].first();
}

std::string UpdateJudge::note() const {
  if (many_.steps.empty() || judges_all()) return "";
  const std::string steps = std::to_string(many_.steps.size());
  if (many_.kept.size() < many_.steps.size())
    return "updates are judged in " + std::to_string(replayed()) + " of " + steps +
           " steps: gradients and parameters of more would take more than " + std::to_string(kKeptBytes >> 20) +
           " MiB\n";
  return "updates are judged in " + std::to_string(replayed()) + " of " + steps +
         " steps: the script alone made no more\n";
}

}  // namespace baleen::app
