/// \file What CLI11 checks of words that are numbers. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "baleen/result.hpp"

namespace baleen::app {

/// Whether all of the text is a number; then `out` is it.
template <class Number>
bool reads_as(const std::string& text, Number& out) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  return code == std::errc() && end == text.data() + text.size();
}

/// A whole number of at least `least`.
inline CLI::Validator count_check(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t count = 0;
    if (reads_as(text, count) && count >= least) return {};
    return "must be a whole number of at least " + std::to_string(least) + ", not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

/// A whole number of 64 bits, with a sign or without.
inline CLI::Validator seed_check() {
  const auto check = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    std::uint64_t large = 0;
    if (reads_as(text, number) || reads_as(text, large)) return {};
    return "must be a whole number of 64 bits, not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

/// A number of at least 0.
inline CLI::Validator temperature_check() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    if (reads_as(text, number) && number >= 0 && std::isfinite(number)) return {};
    return "must be a number of at least 0, not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

/// A number from `least` to `most`, which NaN is not.
inline CLI::Validator range_check(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double number = 0;
    if (reads_as(text, number) && number >= least && number <= most) return {};
    char range[64];
    std::snprintf(range, sizeof range, "must be a number from %g to %g", least, most);
    return std::string(range) + ", not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

/// A number from 0 to 1.
inline CLI::Validator part_check() { return range_check(0, 1); }

/// An empty word means nothing to any option but --stop. It is mostly what a shell makes of a variable that is not set,
/// and must not count as if the option were left out.
inline Status refuse_empty_words(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool ends = word.starts_with("--") && word.find('=') == word.size() - 1;
    if (!word.empty() && !ends) continue;
    const std::string before = ends ? word : i > 0 ? words[i - 1] : "baleen";
    if (before.starts_with("--stop")) continue;
    return invalid("behind `" + before + "` stands an empty word; is a variable of the shell not set?");
  }
  return {};
}

}  // namespace baleen::app
