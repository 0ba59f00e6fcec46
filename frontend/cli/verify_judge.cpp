/// \file Compares the records of two runs, in the order in which things are computed.
#include "frontend/cli/verify_judge.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "baleen/dtype.hpp"
#include "compiler/layout/mesh.hpp"
#include "frontend/cli/verify_found.hpp"
#include "frontend/cli/verify_noise.hpp"
#include "frontend/cli/verify_updates.hpp"

namespace baleen::app {
namespace {

/// How much larger than their mean the terms of a gradient that is approximated may be.
constexpr double kTerms = 4;

class Judge {
 public:
  Judge(const Record& many, const Record& one, const std::vector<Shaken>& shaken, const Replay& replay,
        const std::vector<Rounded>& rounded, const Louder& louder)
      : many_(many),
        one_(one),
        shaken_(shaken),
        rounded_(rounded),
        louder_(louder),
        exact_(many.coarsest == BALEEN_F64),
        rounding_(rounding_of(many.coarsest)),
        updates_(many, one, replay) {
    for (const Record::Copy& copy : many.copies) copies_.emplace(Place{copy.step, copy.list, copy.tensor}, &copy);
    for (const std::string& name : one.names[Record::gradients]) programs_.push_back(program_of(one, name));
  }

  Judgement run() {
    if (!same_names()) return std::move(result_);
    noise_ = noise_of(many_, one_, shaken_);
    const std::size_t steps = std::min(many_.steps.size(), one_.steps.size());
    for (std::size_t i = 0; i < steps; ++i) {
      compare_evaluations(training_steps(one_, i));
      if (many_.steps[i].program != one_.steps[i].program) {
        differ("where the ranks made " + label_of(many_, i) + " one rank made " + label_of(one_, i));
        break;
      }
      compare_step(i);
    }
    if (many_.steps.size() != one_.steps.size())
      differ("the ranks ran " + std::to_string(many_.steps.size()) + " steps and one rank ran " +
             std::to_string(one_.steps.size()) + (one_.programs.empty() ? "" : ", runs of programs among them"));
    compare_last();
    compare_evaluations(INT64_MAX);
    if (many_.evaluations.size() != one_.evaluations.size())
      differ("the ranks evaluated " + std::to_string(many_.evaluations.size()) + " times and one rank " +
             std::to_string(one_.evaluations.size()) + " times");
    result_.summary = losses_.line();
    if (!one_.evaluations.empty()) result_.summary += evaluations_.line();
    for (std::size_t list = 0; list < Record::kLists; ++list)
      if (!one_.names[list].empty()) result_.summary += line(static_cast<Record::List>(list));
    if (!exact_) result_.summary += updates_.note() + approximated_note();
    if (!left_out_.empty()) result_.summary += "steps that the ranks left out: " + left_out_ + "\n";
    result_.summary += ill_conditioned_note();
    result_.summary += noted("gradients of rounding noise, not judged: ", noise_.all());
    result_.summary += noted("ill-conditioned, for elements of their gradients are rounding noise: ", loud_);
    return std::move(result_);
  }

 private:
  /// A step, or an evaluation; a list of Record, and which of it.
  using Place = std::tuple<std::size_t, Record::List, std::size_t>;

  std::string line(Record::List list) const {
    if (is_judged(list)) return tensors_[list].line();
    return updates_.judges_all() ? updates_.line(list) : shown_[list].line() + updates_.line(list);
  }
  void differ(std::string text) {
    if (!result_.difference) result_.difference = std::move(text);
  }
  void see(Found& found, double difference, double limit, const std::string& place, const std::string& cause = "") {
    if (found.see(difference, limit, place)) differ(*found.first() + cause);
  }
  /// With few digits an optimizer may divide rounding noise by itself, so what it makes is judged by the replay, by the
  /// gradients and losses that come of it, and by the copies of other ranks.
  bool is_judged(Record::List list) const { return exact_ || list == Record::gradients; }
  /// Of a tensor whose norm is `norm`, of which both are shown as parts. `cause` is asked for where it differs first.
  void see_tensor(Record::List list, const std::string& name, double difference, double limit, double norm,
                  const std::string& place, const std::function<std::string()>& cause) {
    Found& found = is_judged(list) ? tensors_[list] : shown_[list];
    const double whole = std::max(norm, 1e-300);
    if (!found.see(difference / whole, limit / whole, place) || !is_judged(list)) return;
    if (!result_.difference && list != Record::gradients) result_.updated.emplace(list, name);
    differ(*found.first() + cause());
  }

  bool same_names() {
    for (std::size_t list = 0; list < Record::kLists; ++list) {
      const auto &many = many_.names[list], &one = one_.names[list];
      const std::string what = std::string(kWhat[list]) + " `";
      for (std::size_t t = 0; t < std::max(many.size(), one.size()); ++t) {
        if (t < many.size() && t < one.size() && many[t] == one[t]) continue;
        if (t >= many.size())
          differ(what + one[t] + "` is one rank's alone");
        else if (t >= one.size())
          differ(what + many[t] + "` is the ranks' alone");
        else
          differ(what + many[t] + "` of the ranks stands where one rank has `" + one[t] + "`");
        return false;
      }
    }
    return true;
  }

  /// In the step that is compared, or behind the last one. Where the ranks' gradients are not followed, what an update
  /// made of noise is in all that comes later.
  bool is_noise(Record::List list, const std::string& name, std::size_t i) const {
    if (noise_until_now_.empty()) return false;
    if (list == Record::gradients && updates_.judges_all()) return noise_.holds(name, i);
    return is_of(noise_until_now_, one_, list, name);
  }

  /// What a number of a step, or of an evaluation, has grown to in the references that began with other parameters.
  template <class Difference>
  double growth(std::size_t i, Difference&& difference) const {
    double most = 0;
    for (const Shaken& shaken : shaken_)
      if (i < shaken.record->steps.size())
        most = std::max(most, difference(shaken.record->steps[i]) / shaken.roundings);
    return most;
  }

  /// How far the ranks are `off`, from the exact reference or from one that rounds, of which these are told. Where that
  /// is too much, `limit` grows by what random ones come to: `spread`.
  double beside_rounded(double off, const std::vector<double>& rounded, double spread, double& limit,
                        const std::string& place) {
    if (!(off > limit) || rounded.empty()) return off;
    const double near = std::min(off, *std::min_element(rounded.begin(), rounded.end()));
    if (near > limit) limit += kDraws * spread;
    if (near <= limit) ill_conditioned_.push_back(place);
    return near;
  }

  /// The same of step `i`, with `distance` between two of it. `all`: references that round alike count as random too.
  template <class Distance>
  double nearest(std::size_t i, double& limit, const std::string& place, Distance&& distance, bool all = false) {
    const Record::Step &many = many_.steps[i], &one = one_.steps[i];
    std::vector<double> off;
    double spread = 0;
    std::vector<double> of_parts;
    const Record::Step* first = nullptr;
    for (const auto& [rounded, is_random, in_parts, times] : rounded_) {
      if (i >= rounded->steps.size() || !std::isfinite(rounded->steps[i].loss)) continue;
      if (!first) first = &rounded->steps[i];
      const double away = distance(many, rounded->steps[i]), moved = times * distance(rounded->steps[i], *first);
      if (!std::isfinite(moved)) continue;  // beyond the range of fp16
      off.push_back(away);
      if (in_parts)
        of_parts.push_back(moved);
      else if (is_random || all)
        spread = std::max(spread, moved);
    }
    spread = std::max(spread, largest_alike(std::move(of_parts)));
    return beside_rounded(distance(many, one), off, spread, limit, place);
  }

  void compare_step(std::size_t i) {
    const Record::Step &a = many_.steps[i], &b = one_.steps[i];
    const std::string label = label_of(one_, i), of = " of " + label;
    noise_until_now_ = noise_.until(i);
    double& grown = grown_loss_[b.program];
    grown = std::max(grown, growth(i, [&](const Record::Step& s) { return relative(s.loss, b.loss); }));
    const double least = number_limit(b.program);
    double limit = least;
    const auto between = [](const auto& x, const auto& y) { return relative(x.loss, y.loss); };
    const double off = nearest(i, limit, "the loss" + of, between, true);
    see(losses_, off, limit, "the loss" + of, unlike_in_step(i));
    compare_copies({i, Record::numbers, Record::loss}, losses_, least, b.loss, "the loss" + of);
    std::size_t metric = Record::metrics;
    for (const auto& [name, value] : b.facts)
      if (exact_ && name != "gradient_norm") compare_metric({i, Record::numbers, metric++}, name, value, of);
    if (a.counts || a.tensors[Record::gradients].empty() || finite(a.tensors[Record::gradients])) {
      compare_list(i, Record::gradients, a, b, of);
      compare_norm(i, of);
    }
    const std::string after = " after " + label;
    compare_list(i, Record::parameters, a, b, after);
    compare_list(i, Record::states, a, b, after);
    if (!a.counts) see_left_out(i, label);
  }

  /// Steps are left out where gradients are not finite, as those of a loss scale that is too large.
  void see_left_out(std::size_t i, const std::string& label) {
    const Record::Step& many = many_.steps[i];
    const auto norm = many.facts.find("gradient_norm");
    left_out_ += (left_out_.empty() ? "" : ", ") + label;
    if (many.tensors[Record::gradients].empty() || !finite(many.tensors[Record::gradients])) return;
    if (norm == many.facts.end() || std::isfinite(norm->second))
      differ("the update of " + label + ", which the ranks left out though its gradients are finite");
  }

  /// Of a loss. One rounding of a logit is one of the loss at most.
  double number_limit(const std::string& program = "") const {
    const auto grown = grown_loss_.find(program);
    return (exact_ ? 1e-10 : std::max(1e-6, rounding_)) + (grown == grown_loss_.end() ? 0 : kRoundings * grown->second);
  }

  void compare_metric(const Place& place, const std::string& name, double value, const std::string& of) {
    const Facts& facts = many_.steps[std::get<0>(place)].facts;
    const auto other = facts.find(name);
    if (other == facts.end()) return differ("`" + name + "`" + of + " is one rank's alone");
    const double scale = std::max(1.0, std::abs(value));
    see(losses_, std::abs(other->second - value), 1e-10 * scale, "`" + name + "`" + of, unlike_along(place));
    compare_copies(place, losses_, 1e-10, scale, "`" + name + "`" + of);
  }

  void compare_norm(std::size_t i, const std::string& of) {
    const Record::Step &a = many_.steps[i], &b = one_.steps[i];
    const auto many = a.facts.find("gradient_norm"), one = b.facts.find("gradient_norm");
    if (many == a.facts.end() || one == b.facts.end()) return;
    double& grown = grown_norm_[b.program];
    grown = std::max(
        grown, growth(i, [&](const Record::Step& s) { return relative(s.facts.at("gradient_norm"), one->second); }));
    if (!(one->second > 0) || (!a.counts && !std::isfinite(many->second))) return;
    const double least = (exact_ ? kExact : 4 * rounding_ + 1e-5) + kRoundings * grown + share_of_noise(i, one->second);
    const std::string place = "the norm of the gradients" + of;
    double limit = least;
    const double off = nearest(i, limit, place, [](const Record::Step& x, const Record::Step& y) {
      return relative(x.facts.at("gradient_norm"), y.facts.at("gradient_norm"));
    });
    see(norms_, off, limit, place, unlike_along({i, Record::numbers, Record::norm}));
    compare_copies({i, Record::numbers, Record::norm}, norms_, least, one->second, place);
  }

  /// By how much gradients that are noise may change a step's norm, as a share of it.
  double share_of_noise(std::size_t i, double norm) const {
    double squares = 0;
    for (std::size_t t = 0; t < one_.names[Record::gradients].size(); ++t) {
      if (!is_noise(Record::gradients, one_.names[Record::gradients][t], i)) continue;
      const double many = many_.steps[i].tensors[Record::gradients][t].norm();
      squares += std::pow(std::max(many, one_.steps[i].tensors[Record::gradients][t].norm()), 2);
    }
    return std::min(1.0, squares / (norm * norm));
  }

  /// A number that rank 0 reports, on the other ranks.
  void compare_copies(const Place& place, Found& found, double limit, double value, const std::string& name) {
    const auto [first, last] = copies_.equal_range(place);
    for (auto copy = first; copy != last; ++copy)
      see(found, copy->second->distance / std::max(std::abs(value), 1e-300), limit,
          name + " on rank " + std::to_string(copy->second->rank), unlike_along(place));
  }

  static bool finite(const std::vector<Sketch>& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const Sketch& sketch) { return sketch.is_finite(); });
  }

  /// One list of tensors after one step: with the reference, and on other ranks.
  void compare_list(std::size_t i, Record::List list, const Record::Step& a, const Record::Step& b,
                    const std::string& of) {
    const auto& names = one_.names[list];
    auto& grown = grown_[list];
    grown.resize(names.size());
    const double all = list == Record::gradients ? norm_of_gradients(one_, b) : 0;
    for (std::size_t n = 0; n < names.size(); ++n) {
      // The gradient of what is read last is computed first.
      const std::size_t t = list == Record::gradients ? names.size() - 1 - n : n;
      if (list == Record::gradients && programs_[t] != b.program) continue;
      const Sketch& one = b.tensors[list][t];
      const std::string place = std::string(kWhat[list]) + " `" + names[t] + "`" + of;
      const double whole = std::max(one.norm(), 1e-300);
      if (!is_judged(list)) {
        if (const auto other = updates_.compare(i, list, t, of)) differ(*other);
        if (updates_.judges_all()) {
          compare_copies(i, list, t, updates_.limit(list, t, one.norm()), whole, place);
          continue;
        }
      }
      grown[t] =
          std::max(grown[t], growth(i, [&](const Record::Step& s) { return distance(s.tensors[list][t], one); }));
      if (is_noise(list, names[t], i)) {
        // Whatever it is, ranks that hold the same have the same.
        if (list == Record::parameters) compare_copies(i, list, t, tensor_limit(list, one.norm(), 0), whole, place);
        continue;
      }
      hear_noise(i, list, t, tensor_limit(list, one.norm(), all));
      const double off = list == Record::gradients ? approximated(i, names[t]) : 0;
      const double rounded = tensor_limit(list, one.norm(), all) + kRoundings * grown[t];
      if (std::isinf(off)) {
        compare_copies(i, list, t, rounded, whole, place);
        continue;
      }
      const double least = rounded + off * one.norm();
      double limit = least;
      const auto between = [&](const Record::Step& x, const Record::Step& y) {
        return distance(x.tensors[list][t], y.tensors[list][t]);
      };
      const double away = is_judged(list) ? nearest(i, limit, place, between) : between(a, b);
      see_tensor(list, names[t], away, limit, one.norm(), place, [&] { return cause(i, list, t); });
      compare_copies(i, list, t, least, whole, place);
    }
  }

  /// What an update makes of elements that are noise; `least` is what is allowed without.
  void hear_noise(std::size_t i, Record::List list, std::size_t t, double least) {
    const std::string& name = one_.names[list][t];
    if (!louder_.record || i >= louder_.record->steps.size() || list == Record::gradients) return;
    if (!is_of(*louder_.names, one_, list, name)) return;
    const Sketch& one = one_.steps[i].tensors[list][t];
    double& grown = grown_[list][t];
    if (distance(many_.steps[i].tensors[list][t], one) > least + kRoundings * grown) loud_.insert(name);
    grown = std::max(grown, kDraws * distance(louder_.record->steps[i].tensors[list][t], one) / kRoundings);
  }

  /// By how much a gradient of step `i` may be off by design, as a share of it.
  double approximated(std::size_t i, const std::string& name) const {
    const auto found = many_.approximated.find(name);
    return exact_ || found == many_.approximated.end() ? 0 : kTerms * found->second.at(training_steps(many_, i));
  }

  std::string ill_conditioned_note() const {
    if (ill_conditioned_.empty()) return "";
    const std::size_t others = ill_conditioned_.size() - 1;
    return "ill-conditioned, for rounding alone decides (a choice close to a tie, terms that cancel), and judged "
           "beside references that round: " +
           ill_conditioned_.front() + (others > 0 ? ", and " + std::to_string(others) + " more" : "") + "\n";
  }

  std::string approximated_note() const {
    std::string names;
    for (const auto& [name, how] : many_.approximated)
      if (!exact_ && std::isinf(largest_share(how, many_.steps.size())))
        names += (names.empty() ? "`" : ", `") + name + "`";
    return names.empty() ? "" : "gradients that strategies approximate, not judged but in fp64: " + names + "\n";
  }

  /// In 16 bits the terms of a sum do not average out: four roundings.
  double tensor_limit(Record::List list, double norm, double all) const {
    if (exact_) return kExact * norm + (list == Record::gradients ? 1e-11 * all : 1e-14);
    return (4 * rounding_ + 1e-5) * (norm + 0.1 * all);
  }

  void compare_copies(std::size_t i, Record::List list, std::size_t t, double limit, double norm,
                      const std::string& place) {
    const auto [first, last] = copies_.equal_range(Place{i, list, t});
    for (auto copy = first; copy != last; ++copy)
      see(tensors_[list], copy->second->distance / norm, limit / norm,
          place + " on rank " + std::to_string(copy->second->rank), unlike_along({i, list, t}));
  }

  /// What the numbers say of the mistake, as the end of a sentence.
  std::string cause(std::size_t i, Record::List list, std::size_t t) const {
    const Sketch &many = many_.steps[i].tensors[list][t], &one = one_.steps[i].tensors[list][t];
    if (list == Record::gradients) {
      if (std::string unlike = unlike_along({i, list, t}); !unlike.empty()) return unlike;
      if (i > 0 && near(many, one_.steps[i - 1].tensors[list][t], 1)) return "; it is that of the step before";
    }
    const double factor = factor_of(many, one);
    if (many.norm() == 0 && one.norm() > 0) return "; it is zero: nothing reaches it";
    if (std::abs(factor - 1) < 1e-3 || !near(many, one, factor)) return "";
    std::string text = "; it is " + short_text(factor, "%.5g") + " times what one rank has";
    if (const std::string axes = axes_of_size(many_.mesh, factor); !axes.empty())
      return text + ", as if it were added up along " + axes + " once too often, or a mean were a sum";
    if (const std::string axes = axes_of_size(many_.mesh, 1 / factor); !axes.empty())
      return text + ", as if a sum along " + axes + " were missing, or a mean taken twice";
    return text;
  }

  /// Where all have the same wrong loss, gradients may be unlike.
  std::string unlike_in_step(std::size_t i) const {
    std::string unlike = unlike_along({i, Record::numbers, Record::loss});
    const std::size_t gradients = many_.names[Record::gradients].size();
    for (std::size_t t = gradients; t > 0 && unlike.empty(); --t) unlike = unlike_along({i, Record::gradients, t - 1});
    return unlike;
  }

  /// The axes along which ranks have other copies than the first of them.
  std::string unlike_along(const Place& place) const {
    const auto [i, list, t] = place;
    std::set<std::size_t> along;
    const double bound =
        list >= Record::kLists ? (exact_ ? 1e-10 : 1e-6) : 1e-6 * many_.steps[i].tensors[list][t].norm();
    const auto [first, last] = copies_.equal_range(place);
    for (auto copy = first; copy != last; ++copy) {
      if (copy->second->distance <= bound) continue;
      const Coordinates at = coordinates(many_.mesh, copy->second->rank),
                        of = coordinates(many_.mesh, copy->second->of);
      std::vector<std::size_t> moved;
      for (std::size_t a = 0; a < at.size(); ++a)
        if (at[a] != of[a]) moved.push_back(a);
      if (moved.size() == 1) along.insert(moved[0]);
    }
    if (along.empty()) return "";
    std::string names;
    for (const std::size_t axis : along) names += (names.empty() ? "`" : ", `") + many_.mesh.axes[axis].name + "`";
    return "; ranks have different copies along " + names + ": a sum or a copy along it is missing";
  }

  /// The next ones, of up to so many steps.
  void compare_evaluations(std::int64_t steps) {
    for (; evaluated_ < one_.evaluations.size() && one_.evaluations[evaluated_].steps <= steps; ++evaluated_)
      compare_evaluation(evaluated_);
  }

  /// Of metrics only what is exact: in fewer digits one may jump, as an accuracy does.
  void compare_evaluation(std::size_t number) {
    if (number >= many_.evaluations.size()) return;
    const Record::Evaluation &a = many_.evaluations[number], &b = one_.evaluations[number];
    const std::string when = " after step " + std::to_string(b.steps);
    if (a.steps != b.steps)
      return differ("the ranks evaluated after step " + std::to_string(a.steps) + ", and one rank" + when);
    if (a.facts.size() != b.facts.size()) return differ("the evaluation" + when + " has other results");
    for (const Shaken& shaken : shaken_) {
      if (number >= shaken.record->evaluations.size()) continue;
      const auto& facts = shaken.record->evaluations[number].facts;
      if (const auto other = facts.find("held_out_loss"), own = b.facts.find("held_out_loss");
          own != b.facts.end() && other != facts.end())
        grown_loss_[""] = std::max(grown_loss_[""], relative(other->second, own->second) / shaken.roundings);
    }
    for (const auto& [name, value] : b.facts) {
      const auto other = a.facts.find(name);
      if (other == a.facts.end()) return differ("the evaluation" + when + " has no `" + name + "`");
      if (!exact_ && name != "held_out_loss") continue;
      const auto fact = static_cast<std::size_t>(std::distance(a.facts.begin(), other));
      const Place place{number, Record::evaluated, fact};
      double limit = number_limit();
      std::vector<double> rounded, moved;
      for (const Rounded& one : rounded_) {
        if (number >= one.record->evaluations.size()) continue;
        const auto there = one.record->evaluations[number].facts.find(name);
        if (there == one.record->evaluations[number].facts.end()) continue;
        rounded.push_back(relative(other->second, there->second));
        moved.push_back(relative(there->second, value));
      }
      const double spread = moved.empty() ? 0 : std::ranges::max(moved);
      const double off = beside_rounded(relative(other->second, value), rounded, spread, limit, name + when);
      see(evaluations_, off, limit, name + when, unlike_along(place));
      compare_copies(place, evaluations_, number_limit(), value, name + when);
    }
  }

  /// Whole tensors at the end: the script may have changed them behind the last step.
  void compare_last() {
    noise_until_now_ = noise_.all();
    for (const Record::List list : {Record::parameters, Record::states})
      for (std::size_t t = 0; t < one_.names[list].size(); ++t) {
        const std::string what = std::string(kWhat[list]) + " `" + one_.names[list][t] + "`";
        const std::vector<double>&a = many_.last[list][t], &b = one_.last[list][t];
        if (a.size() != b.size())
          return differ(what + " has " + std::to_string(a.size()) + " numbers on the ranks and " +
                        std::to_string(b.size()) + " on one");
        if (!exact_) {
          if (const auto other = updates_.compare_last(list, t, what)) differ(*other);
          if (updates_.judges_all()) continue;
        }
        if (is_noise(list, one_.names[list][t], many_.steps.size())) continue;
        const Away away(a, b);
        const double grown = t < grown_[list].size() ? grown_[list][t] : 0;
        const double limit = tensor_limit(list, away.norm, 0) + kRoundings * grown;
        see_tensor(list, one_.names[list][t], away.distance, limit, away.norm, away.place(what),
                   [] { return std::string(); });
      }
  }

  const Record &many_, &one_;
  const std::vector<Shaken>& shaken_;
  const std::vector<Rounded>& rounded_;
  const Louder& louder_;
  const bool exact_;
  const double rounding_;
  UpdateJudge updates_;
  Judgement result_;
  std::vector<std::string> ill_conditioned_;  ///< places that are judged beside what is rounded
  Found losses_{"losses"}, evaluations_{"evaluations"}, norms_{"norms"};
  std::array<Found, Record::kLists> tensors_{Found(kTitles[0]), Found(kTitles[1]), Found(kTitles[2])};
  std::array<Found, Record::kLists> shown_ = tensors_;
  Noise noise_;
  GradientNames noise_until_now_;
  GradientNames loud_;                                     ///< parameters and states
  std::string left_out_;                                   ///< steps whose gradients do not count
  std::vector<std::string> programs_;                      ///< of gradients
  std::map<std::string, double> grown_loss_, grown_norm_;  ///< what further references have come to, relative
  std::array<std::vector<double>, Record::kLists> grown_;  ///< the same of each tensor
  std::multimap<Place, const Record::Copy*> copies_;
  std::size_t evaluated_ = 0;
};

}  // namespace

double rounding_of(baleen_dtype_t dtype) { return std::exp2(-dtype_digits(dtype)); }

Judgement judge(const Record& many, const Record& one, const std::vector<Shaken>& shaken, const Replay& replay,
                const std::vector<Rounded>& rounded, const Louder& louder) {
  return Judge(many, one, shaken, replay, rounded, louder).run();
}

}  // namespace baleen::app
