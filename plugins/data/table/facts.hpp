/// \file What a table teaches, as it is saved with a model: JSON there and back.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::table {

/// What becomes of one column.
struct FeatureFacts {
  std::string name;
  std::vector<std::string> categories;  // none: it is numeric
  bool numeric = true;
  double mean = 0, deviation = 1;  // numeric; the deviation is the population's
  std::int32_t most_frequent = 0;  // else: the category of a missing field
  bool marks_missing = false;      // a further feature says that the field was missing

  std::size_t width() const { return (numeric ? 1 : categories.size()) + (marks_missing ? 1 : 0); }
};

struct Facts {
  bool named = false;  // columns have names of their own, not their numbers
  bool normalize = false, classify = true;
  std::string label;
  std::vector<FeatureFacts> features;
  std::vector<std::string> classes;  // classify
  std::vector<double> class_values;  // classify, where the classes are numbers: ascending

  std::string text() const;
  static Result<Facts> parse(std::string_view text);
};

}  // namespace baleen::table
