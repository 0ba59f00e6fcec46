/// \file Gradients that are rounding noise, whole or in some of their elements, and what an update makes of these.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontend/cli/verify_judge.hpp"

namespace baleen::app {

/// Names of gradients, "<program>/<name>" of a program's.
using GradientNames = std::set<std::string>;

struct Noise {
  GradientNames names;                                 ///< in all steps
  std::map<std::string, std::set<std::size_t>> steps;  ///< in these alone

  GradientNames all() const;
  /// Of a gradient, in that step.
  bool holds(const std::string& gradient, std::size_t step) const;
  /// Of gradients that are noise in that step or were before.
  GradientNames until(std::size_t step) const;
};

/// What is rounding noise, by references that one rounding has changed: all of a gradient that is so in the first step,
/// before other things grow; and those steps of others in which next to nothing of all is theirs. Of the latter the
/// ranks themselves may be the proof: terms that nearly cancel do so otherwise in another order, and an optimizer makes
/// of the rest what it makes of others.
Noise noise_of(const Record& many, const Record& one, const std::vector<Shaken>& shaken);

/// Whether a tensor is one of these gradients, or such a one's parameter or state. A state is named by its parameter,
/// the one of the longest name that fits, behind its program's.
bool is_of(const GradientNames& gradients, const Record& one, Record::List list, const std::string& name);

/// Of the gradients that a step, or a run of a program, makes.
double norm_of_gradients(const Record& record, const Record::Step& step);

/// What a further reference is to take as its gradients: those of `one`, in which each element that one rounding
/// (`shaken`) changes by a quarter of itself is much larger, up or down at random. Both have kept theirs. In `names`
/// are those that have such elements; without any there is nothing to take.
struct LoudNoise {
  Record gradients;
  GradientNames names;
};
LoudNoise loud_noise(const Record& one, const Record& shaken);

}  // namespace baleen::app
