/// \file Patterns of names: how users say which parameters an option is for.
#pragma once
#include <cstddef>
#include <string_view>

namespace baleen {

/// Whether `pattern` stands for the whole of `text`: '*' for any text, '?' for one character, others for themselves.
constexpr bool matches(std::string_view pattern, std::string_view text) {
  // Greedy with backtracking to the last star.
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*')
      star = p++, mark = t;
    else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]))
      ++p, ++t;
    else if (star != std::string_view::npos)
      p = star + 1, t = ++mark;
    else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace baleen
