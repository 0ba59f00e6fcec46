/// \file Compares the records of two runs.
#include "frontend/cli/verify_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "baleen/dtype.hpp"

namespace baleen::app {
namespace {

using Tensors = std::vector<Record::Tensor>;

std::string short_text(double number, const char* format = "%.3g") {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// What was found of one kind of number, against its limits.
class Found {
 public:
  explicit Found(std::string what) : what_(std::move(what)) {}

  /// `place`: "step 3". What is no number is too much.
  void see(double difference, double limit, const std::string& place) {
    const double of_limit = std::isnan(difference) ? INFINITY
                            : limit > 0            ? difference / limit
                            : difference > 0       ? INFINITY
                                                   : 0;
    if (of_limit > 1 && !first_)
      first_ = place + " (" + short_text(difference) + ", " + short_text(limit) + " allowed)";
    if (of_limit <= share_) return;
    share_ = of_limit;
    worst_ = difference;
    at_ = place;
  }
  /// Where the first stands that is too large.
  const std::optional<std::string>& first() const { return first_; }
  std::string line() const {
    return "largest difference of " + what_ + ": " + short_text(worst_) + ", " +
           short_text(std::max(share_, 0.0), "%.2g") + " of what is allowed" + (at_.empty() ? "" : ", at " + at_) +
           "\n";
  }

 private:
  std::string what_, at_;
  double worst_ = 0, share_ = -1;  ///< share: of the limit
  std::optional<std::string> first_;
};

double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::max(std::abs(b), 1e-300); }

class Judge {
 public:
  Judge(const Record& many, const Record& one)
      : many_(many),
        one_(one),
        exact_(one.coarsest == BALEEN_F64),
        looser_(exact_ ? 1 : std::exp2(0.5 * (dtype_digits(BALEEN_F32) - dtype_digits(one.coarsest)))) {}

  /// In the order of the run: what is evaluated behind the last step has been computed of the parameters.
  Judgement run() {
    compare_steps();
    compare_all(many_.parameters, one_.parameters, 0, "parameter", "parameters (norms)");
    compare_evaluations(INT64_MAX);
    if (many_.evaluations.size() != one_.evaluations.size())
      differ("the ranks evaluated " + std::to_string(many_.evaluations.size()) + " times and one rank " +
             std::to_string(one_.evaluations.size()) + " times");
    if (!one_.evaluations.empty()) differ(held_out_);
    compare_all(many_.states, one_.states, one_.parameters.size(), "state", "optimizer states (norms)");
    return std::move(result_);
  }

 private:
  void differ(std::string text) {
    if (!result_.difference) result_.difference = std::move(text);
  }
  void differ(const Found& found) {
    result_.summary += found.line();
    if (found.first()) differ(*found.first());
  }

  /// Of losses, when so many steps were done.
  double loss_limit(std::int64_t steps) const {
    const double progress = std::clamp(static_cast<double>(steps - 1) / 19, 0.0, 1.0);
    return exact_ ? 1e-10 : looser_ * std::pow(10, -6 + 2 * progress);
  }

  /// Of the difference of all, as part of their norm. In 16 bits terms do not average out: four units of the last
  /// digit.
  double gradient_limit() const { return std::max(1e-5, 4 * std::exp2(-dtype_digits(one_.coarsest))); }

  /// Losses, and the evaluations between them.
  void compare_steps() {
    Found losses("losses");
    for (std::size_t i = 0; i < one_.losses.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i) + 1;
      compare_evaluations(step - 1);
      if (held_out_.first()) differ(*held_out_.first());
      if (i < many_.losses.size())
        losses.see(relative(many_.losses[i], one_.losses[i]), loss_limit(step),
                   "the loss of step " + std::to_string(step));
      if (losses.first()) differ(*losses.first());
      if (i == 0) compare_gradients();
    }
    if (many_.losses.size() != one_.losses.size())
      differ("the ranks ran " + std::to_string(many_.losses.size()) + " steps and one rank ran " +
             std::to_string(one_.losses.size()));
    differ(losses);
  }

  /// The next ones, of up to so many steps.
  void compare_evaluations(std::int64_t steps) {
    for (; evaluated_ < one_.evaluations.size() && one_.evaluations[evaluated_].steps <= steps; ++evaluated_)
      compare_evaluation(evaluated_, held_out_);
  }

  /// Of metrics only what is exact: in fewer digits one may jump, as an accuracy does.
  void compare_evaluation(std::size_t number, Found& found) {
    if (number >= many_.evaluations.size()) return;
    const Record::Evaluation &a = many_.evaluations[number], &b = one_.evaluations[number];
    const std::string when = " after step " + std::to_string(b.steps);
    if (a.steps != b.steps)
      return differ("the ranks evaluated after step " + std::to_string(a.steps) + ", and one rank" + when);
    if (a.facts.size() != b.facts.size()) return differ("the evaluation" + when + " has other results");
    for (const auto& [name, value] : b.facts) {
      const auto other = a.facts.find(name);
      if (other == a.facts.end()) return differ("the evaluation" + when + " has no `" + name + "`");
      if (exact_ || name == "held_out_loss")
        found.see(relative(other->second, value), loss_limit(b.steps), name + when);
    }
  }

  /// Their difference as a whole, of the norm of all.
  void compare_gradients() {
    if (!same_tensors(many_.first_gradients, one_.first_gradients, "first gradient") || one_.first_gradients.empty())
      return;
    double all = 0, norm = 0, most = -1;
    std::string at;
    for (std::size_t t = 0; t < one_.first_gradients.size(); ++t) {
      double own = 0;
      for (std::size_t i = 0; i < one_.first_gradients[t].numbers.size(); ++i) {
        const double a = many_.first_gradients[t].numbers[i], b = one_.first_gradients[t].numbers[i];
        own += (a - b) * (a - b);
        norm += b * b;
      }
      all += own;
      if (!(own <= most)) most = own, at = one_.first_gradients[t].name;
    }
    Found found("first gradients (of their norm)");
    found.see(std::sqrt(all), gradient_limit() * std::sqrt(norm),
              "the gradients of the first step, most of `" + at + "`");
    differ(found);
  }

  bool same_tensors(const Tensors& many, const Tensors& one, const std::string& what) {
    for (std::size_t t = 0; t < std::max(many.size(), one.size()); ++t) {
      if (t >= many.size())
        differ(what + " `" + one[t].name + "` is one rank's alone");
      else if (t >= one.size())
        differ(what + " `" + many[t].name + "` is the ranks' alone");
      else if (many[t].name != one[t].name)
        differ(what + " `" + many[t].name + "` of the ranks stands where one rank has `" + one[t].name + "`");
      else if (many[t].numbers.size() != one[t].numbers.size())
        differ(what + " `" + one[t].name + "` has " + std::to_string(many[t].numbers.size()) +
               " numbers on the ranks and " + std::to_string(one[t].numbers.size()) + " on one");
      else
        continue;
      return false;
    }
    return true;
  }

  /// `before`: sketches of others.
  void compare_all(const Tensors& many, const Tensors& one, std::size_t before, const std::string& what,
                   const std::string& title) {
    if (!same_tensors(many, one, what) || one.empty()) return;
    Found found(title);
    for (std::size_t t = 0; t < one.size(); ++t) {
      const std::vector<double>&a = many[t].numbers, &b = one[t].numbers;
      double difference = 0, norm = 0;
      std::size_t at = 0;
      for (std::size_t i = 0; i < b.size(); ++i) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
        if (!(std::abs(a[i] - b[i]) <= std::abs(a[at] - b[at]))) at = i;
      }
      const double limit = 1e-8 * std::sqrt(norm) + 1e-12 * std::sqrt(static_cast<double>(b.size()));
      found.see(std::sqrt(difference), limit, what + " `" + one[t].name + "`, most at element " + std::to_string(at));
      compare_replicas(many[t], before + t, limit, what, found);
    }
    if (exact_) return differ(found);
    result_.summary += found.line();
  }

  /// What other ranks have of the tensor with what the first has.
  void compare_replicas(const Record::Tensor& first, std::size_t number, double limit, const std::string& what,
                        Found& found) {
    if (many_.replicas.empty()) return;
    const Sketch own = sketch_of(first.numbers);
    for (std::size_t r = 0; r < many_.replicas.size(); ++r) {
      const std::string place = what + " `" + first.name + "` on rank " + std::to_string(r + 1);
      if (number >= many_.replicas[r].size()) return differ(place + ", which is not there");
      double squares = 0;
      for (std::size_t i = 0; i < own.size(); ++i)
        squares += std::pow(many_.replicas[r][number][i] - own[i], 2) / static_cast<double>(own.size());
      found.see(std::sqrt(squares), limit, place);
    }
  }

  const Record &many_, &one_;
  const bool exact_;
  const double looser_;  ///< than in fp32
  Judgement result_;
  Found held_out_{"evaluations"};
  std::size_t evaluated_ = 0;
};

}  // namespace

Judgement judge(const Record& many, const Record& one) { return Judge(many, one).run(); }

}  // namespace baleen::app
