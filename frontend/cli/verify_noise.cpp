#include "frontend/cli/verify_noise.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "frontend/cli/verify_found.hpp"

namespace baleen::app {
namespace {

/// A gradient is noise if one rounding changes it by this part of itself.
constexpr double kNoise = 0.25;
/// In fp64 rounding changes nothing by so much, but what is chosen by it.
constexpr double kChosen = 1e-3;
/// How many times as large noise may be where terms are added up in another order.
constexpr float kLouder = 64;

bool is_of_any(const GradientNames& gradients, const Record& one, const std::string& parameter) {
  return gradients.contains(parameter) || std::any_of(one.programs.begin(), one.programs.end(), [&](const auto& p) {
           return gradients.contains(p + "/" + parameter);
         });
}

/// Of the first step in which references in fp64 whose values are off by several roundings have other gradients: these.
/// What comes of it in later steps grows in the same references.
Noise chosen_by_rounding(const Record& many, const Record& one, const std::vector<Shaken>& shaken) {
  Noise noise;
  const auto& names = one.names[Record::gradients];
  for (std::size_t i = 0; i < one.steps.size() && noise.steps.empty(); ++i)
    for (const auto& [record, roundings] : shaken) {
      if (many.coarsest != BALEEN_F64 || roundings <= 1 || i >= record->steps.size()) continue;
      const auto &own = one.steps[i].tensors[Record::gradients], &other = record->steps[i].tensors[Record::gradients];
      for (std::size_t t = 0; t < own.size(); ++t)
        if (program_of(one, names[t]) == one.steps[i].program && distance(own[t], other[t]) > kChosen * own[t].norm())
          noise.steps[names[t]].insert(i);
    }
  return noise;
}

}  // namespace

GradientNames Noise::all() const { return until(SIZE_MAX); }

bool Noise::holds(const std::string& gradient, std::size_t step) const {
  const auto found = steps.find(gradient);
  return names.contains(gradient) || (found != steps.end() && found->second.contains(step));
}

GradientNames Noise::until(std::size_t step) const {
  GradientNames found = names;
  for (const auto& [name, own] : steps)
    if (*own.begin() <= step) found.insert(name);
  return found;
}

Noise noise_of(const Record& many, const Record& one, const std::vector<Shaken>& shaken) {
  Noise noise = chosen_by_rounding(many, one, shaken);
  const auto& names = one.names[Record::gradients];
  for (const auto& [record, roundings] : shaken) {
    if (roundings > 1) continue;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < std::min({one.steps.size(), record->steps.size(), many.steps.size()}); ++i) {
      const Record::Step& step = one.steps[i];
      const bool is_first = seen.insert(step.program).second;
      const auto& own = step.tensors[Record::gradients];
      const auto& other = record->steps[i].tensors[Record::gradients];
      const auto& ranks = many.steps[i].tensors[Record::gradients];
      const double tiny = 1e-12 * norm_of_gradients(one, step);
      for (std::size_t t = 0; t < own.size(); ++t) {
        if (program_of(one, names[t]) != step.program) continue;
        const bool is_tiny = own[t].norm() < tiny, all_tiny = is_tiny && ranks[t].norm() < tiny;
        const bool moves = distance(own[t], other[t]) > kNoise * own[t].norm();
        if (is_first && moves)
          noise.names.insert(names[t]);
        else if ((is_tiny && moves) || (all_tiny && distance(own[t], ranks[t]) > kExact * own[t].norm()))
          noise.steps[names[t]].insert(i);
      }
    }
  }
  return noise;
}

bool is_of(const GradientNames& gradients, const Record& one, Record::List list, const std::string& name) {
  if (list == Record::gradients) return gradients.contains(name);
  if (list == Record::parameters) return is_of_any(gradients, one, name);
  const std::string program = program_of(one, name), own = name.substr(program.empty() ? 0 : program.size() + 1);
  const std::string* owner = nullptr;
  for (const std::string& parameter : one.names[Record::parameters])
    if (own.starts_with(parameter + ".") && (!owner || parameter.size() > owner->size())) owner = &parameter;
  return owner && is_of_any(gradients, one, *owner);
}

double norm_of_gradients(const Record& record, const Record::Step& step) {
  double squares = 0;
  for (std::size_t t = 0; t < record.names[Record::gradients].size(); ++t)
    if (program_of(record, record.names[Record::gradients][t]) == step.program)
      squares += std::pow(step.tensors[Record::gradients][t].norm(), 2);
  return std::sqrt(squares);
}

LoudNoise loud_noise(const Record& one, const Record& shaken) {
  LoudNoise loud;
  loud.gradients.names = one.names;
  loud.gradients.programs = one.programs;
  std::mt19937 signs{2013};
  for (std::size_t i = 0; i < std::min(one.kept.size(), shaken.kept.size()); ++i) {
    loud.gradients.steps.emplace_back().program = one.steps[i].program;
    auto& gradients = loud.gradients.kept.emplace_back().gradients;
    gradients = one.kept[i].gradients;
    for (std::size_t t = 0; t < gradients.size(); ++t)
      for (std::size_t e = 0; e < gradients[t].size(); ++e) {
        const float own = gradients[t][e], other = shaken.kept[i].gradients[t][e];
        if (!(std::abs(own - other) > kNoise * std::abs(own))) continue;
        const float most = kLouder * std::max(std::abs(own), std::abs(other));
        gradients[t][e] = (signs() & 1) != 0 ? most : -most;
        loud.names.insert(one.names[Record::gradients][t]);
      }
  }
  return loud;
}

}  // namespace baleen::app
