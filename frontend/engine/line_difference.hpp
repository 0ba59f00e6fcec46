/// \file Where two texts of lines differ.
#pragma once
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>

namespace baleen::app {

struct LineDifference {
  std::size_t number = 0;  ///< of the first line that differs, from 1
  std::string one, two;    ///< the lines; "nothing more" where a text has ended
};

/// "line 12 (loss)" of the place "a/train.lua:12 (loss)": hosts may have a script anywhere, under any name.
inline std::string line_of_place(const std::string& place) {
  const std::size_t file = place.rfind('/') + 1, colon = place.find(':', file);
  return colon == place.npos ? place.substr(file) : "line " + place.substr(colon + 1);
}

/// Nothing where the texts have the same lines.
inline std::optional<LineDifference> first_difference(const std::string& one, const std::string& two) {
  std::istringstream a(one), b(two);
  for (std::size_t number = 1;; ++number) {
    std::string x, y;
    const bool more_x = static_cast<bool>(std::getline(a, x)), more_y = static_cast<bool>(std::getline(b, y));
    if (!more_x && !more_y) return std::nullopt;
    if (x != y || more_x != more_y)
      return LineDifference{number, more_x ? x : "nothing more", more_y ? y : "nothing more"};
  }
}

}  // namespace baleen::app
