/// \file Records made by hand, for tests of what `baleen verify` says of them.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "frontend/cli/verify_judge.hpp"

namespace baleen::app {

using Numbers = std::vector<double>;

inline const std::array<std::vector<Numbers>, Record::kLists> kNumbers{
    std::vector<Numbers>{{0, 80}, {60, 0, 0, 0}}, {{3, 4}, {0, 0, 0, 0}}, {{0.3, 0.4}, {0, 0, 0, 0}}};

inline Record::Sketches sketches() {
  Record::Sketches all;
  for (std::size_t list = 0; list < Record::kLists; ++list)
    for (const Numbers& numbers : kNumbers[list]) all[list].push_back(sketch_of(numbers));
  return all;
}

/// Twenty steps on two ranks, evaluations after the tenth and the last, two parameters with a state each. The norm
/// of the gradients is about 100, and the first one's changes from step to step.
inline Record record_in(baleen_dtype_t dtype) {
  Record record;
  record.coarsest = dtype;
  record.mesh.axes = {{"data", 2}};
  record.names = {std::vector<std::string>{"a", "b"}, {"a", "b"}, {"a.m", "b.m"}};
  for (int number = 1; number <= 20; ++number) {
    Record::Step step;
    step.loss = 4.0 / number;
    step.facts = {{"accuracy", 0.25}, {"gradient_norm", 100.0}};
    step.tensors = sketches();
    step.tensors[Record::gradients][0] = sketch_of({0.08 * number, 80});
    record.steps.push_back(std::move(step));
  }
  for (const int steps : {10, 20})
    record.evaluations.push_back({steps, {{"held_out_accuracy", 0.5}, {"held_out_loss", 5.0 / steps}}});
  record.last = {std::vector<Numbers>{}, kNumbers[1], kNumbers[2]};
  return record;
}

/// In step `number`, counted from 1.
inline void set(Record& record, std::size_t number, Record::List list, std::size_t tensor, const Numbers& numbers) {
  record.steps[number - 1].tensors[list][tensor] = sketch_of(numbers);
}

/// Of what differs, before the numbers in brackets; what is said of its cause.
inline std::string first_words(const std::string& text) { return text.substr(0, text.find(" (")); }
inline std::string last_words(const std::string& text) {
  const auto at = text.find("; ");
  return at == std::string::npos ? "" : text.substr(at + 2);
}

}  // namespace baleen::app
