/// \file Where two texts of lines differ.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace baleen::app {

struct LineDifference {
  std::size_t number = 0;  ///< of the first line that differs, from 1
  /// The lines; "nothing more" where a text has ended, "nothing of the kind" where it has no such line.
  std::string one, two;
};

/// "line 12 (loss)" of the place "a/train.lua:12 (loss)": hosts may have a script anywhere, under any name.
inline std::string line_of_place(const std::string& place) {
  const std::size_t file = place.rfind('/') + 1, colon = place.find(':', file);
  return colon == place.npos ? place.substr(file) : "line " + place.substr(colon + 1);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

/// Nothing where the texts have the same lines.
inline std::optional<LineDifference> first_difference(const std::string& one, const std::string& two) {
  const std::vector<std::string> a = lines_of(one), b = lines_of(two);
  const auto [x, y] = std::ranges::mismatch(a, b);
  if (x == a.end() && y == b.end()) return std::nullopt;
  return LineDifference{static_cast<std::size_t>(x - a.begin()) + 1, x != a.end() ? *x : "nothing more",
                        y != b.end() ? *y : "nothing more"};
}

/// Of texts whose lines say one fact each: a fact that one of them alone tells is not compared with the other's next.
inline std::optional<LineDifference> first_other_fact(const std::string& one, const std::string& two) {
  auto found = first_difference(one, two);
  if (!found) return found;
  const std::vector<std::string> a = lines_of(one), b = lines_of(two);
  const bool is_in_two = std::ranges::count(b, found->one) > 0, is_in_one = std::ranges::count(a, found->two) > 0;
  if (is_in_one && !is_in_two) found->two = "nothing of the kind";
  if (is_in_two && !is_in_one) found->one = "nothing of the kind";
  return found;
}

}  // namespace baleen::app
