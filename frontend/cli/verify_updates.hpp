/// \file What the ranks' updates made of their gradients, beside what the script alone makes of the same ones.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/verify_found.hpp"
#include "frontend/cli/verify_judge.hpp"

namespace baleen::app {

/// For runs in fewer digits than fp64. After each step a parameter or state may be off by how its numbers round (in
/// fp32, once a step), by a part of its way so far, and by kRoundings times what one rounding of everything comes to.
class UpdateJudge {
 public:
  /// All outlive it. Without a replay nothing is compared.
  UpdateJudge(const Record& many, const Record& one, const Replay& replay);

  /// A tensor after step `i`, counted from 0, in the order of steps. What differs first in its list, as a sentence;
  /// nothing: this does not.
  std::optional<std::string> compare(std::size_t i, Record::List list, std::size_t t);
  /// The same of what is there at the end. `what` names the tensor.
  std::optional<std::string> compare_last(Record::List list, std::size_t t, const std::string& what);

  /// Whether it compares every step.
  bool judges_all() const { return replayed() > 0 && replayed() == many_.steps.size(); }
  /// What a tensor whose norm is `norm` may be off by, after the last step that was compared.
  double limit(Record::List list, std::size_t t, double norm) const { return allowed_[list][t].limit(norm); }

  /// For people: a list's largest difference, and which steps were not judged.
  std::string line(Record::List list) const { return replay_.record ? found_[list].line() : ""; }
  std::string note() const;

 private:
  struct Allowed {
    double steps = 0;
    double moved = 0;  ///< the way of all steps
    double grown = 0;  ///< what one rounding of everything has come to
    double limit(double norm) const;
  };
  std::size_t replayed() const;

  const Record &many_, &one_;
  const Replay replay_;
  std::array<Found, Record::kLists> found_;
  std::array<std::vector<Allowed>, Record::kLists> allowed_;  ///< by tensor
};

}  // namespace baleen::app
