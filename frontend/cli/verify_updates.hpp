/// \file What the ranks' updates made of their gradients, beside what the script alone makes of the same ones.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "frontend/cli/verify_found.hpp"
#include "frontend/cli/verify_judge.hpp"

namespace baleen::app {

/// For runs in fewer digits than fp64. After each step a parameter may be off by how its numbers round in fp32, by a
/// part of what the step changes, and by kRoundings times what one rounding of everything comes to. A state may be off
/// by what roundings of all steps add up to, as it is not set to the ranks' behind each.
class UpdateJudge {
 public:
  /// All outlive it. Without a replay nothing is compared.
  UpdateJudge(const Record& many, const Record& one, const Replay& replay);

  /// A tensor after step `i`, counted from 0, in the order of steps; `after`: " after step 3". What differs first in
  /// its list, as a sentence; nothing: this does not.
  std::optional<std::string> compare(std::size_t i, Record::List list, std::size_t t, const std::string& after);
  /// The same of what is there at the end. `what` names the tensor.
  std::optional<std::string> compare_last(Record::List list, std::size_t t, const std::string& what);

  /// Whether it compares every step.
  bool judges_all() const;
  /// What a tensor whose norm is `norm` may be off by, after the last step that was compared.
  double limit(Record::List list, std::size_t t, double norm) const;

  /// For people: a list's largest difference, and which steps were not judged.
  std::string line(Record::List list) const { return replay_.record ? found_[list].line() : ""; }
  std::string note() const;

 private:
  struct Allowed {
    double steps = 0;
    double moved = 0;  ///< in the last step
    double grown = 0;  ///< what one rounding of everything has come to; of a parameter in the last step
  };
  /// Steps that were followed.
  std::size_t replayed() const;

  const Record &many_, &one_;
  const Replay replay_;
  std::array<Found, Record::kLists> found_;
  std::array<std::vector<Allowed>, Record::kLists> allowed_;  ///< by tensor
};

}  // namespace baleen::app
