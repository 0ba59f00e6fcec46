/// \file What CLI11 checks of words that are numbers. For command_line.cpp alone.
#pragma once
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <system_error>

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

/// A number of at least 0.
inline CLI::Validator temperature_check() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    if (reads_as(text, number) && number >= 0 && std::isfinite(number)) return {};
    return "must be a number of at least 0, not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

/// A number from 0 to 1.
inline CLI::Validator part_check() {
  const auto check = [](const std::string& text) -> std::string {
    double number = 0;
    if (reads_as(text, number) && number >= 0 && number <= 1) return {};
    return "must be a number from 0 to 1, not `" + text + "`";
  };
  return CLI::Validator(check, "");
}

}  // namespace baleen::app
