/// \file What `baleen plan --json` says.
#pragma once
#include <stdexcept>

#include "parity/parity_run.hpp"

namespace baleen::test {

struct PlannedRanks {
  std::vector<std::pair<int, int>> stretches;  ///< first and last
  /// "planned_bytes.K", "sent_bytes.KIND.AXES", "held_gradients_bytes", "working_bytes", "working_value_bytes", "count"
  std::map<std::string, double> numbers;
  double sent_meanwhile = 0;  ///< bytes, while the rank computes
  bool fits = false;
  struct Form {
    double planned = 0, formula = 0;
    bool off = false;
    std::string text;  ///< of all formulas
  };
  std::map<std::string, Form> forms;  ///< by what they are of: "optimizer", "sent along data"

  bool has(int rank) const {
    for (const auto& [first, last] : stretches)
      if (first <= rank && rank <= last) return true;
    return false;
  }
  double bytes(const std::string& kind) const { return numbers.at("planned_bytes." + kind); }
};

struct Planned {
  int exit_code = 0;
  std::string err;
  double parameters = 0;
  std::vector<PlannedRanks> classes;

  const PlannedRanks& of(int rank) const {
    for (const PlannedRanks& one : classes)
      if (one.has(rank)) return one;
    throw std::out_of_range("no class has rank " + std::to_string(rank));
  }
};

namespace detail {

/// The text of the value that follows `"key":`, from `at` on.
inline std::string::size_type value_at(const std::string& text, const std::string& key, std::string::size_type at = 0) {
  const auto found = text.find("\"" + key + "\":", at);
  EXPECT_NE(found, std::string::npos) << key;
  return found + key.size() + 3;
}

/// The members of {"name":number,...} that begins at `at`.
inline void read_numbers(const std::string& text, std::string::size_type at, const std::string& prefix,
                         std::map<std::string, double>& to) {
  const auto end = text.find('}', at);
  for (auto quote = text.find('"', at); quote < end; quote = text.find('"', quote + 1)) {
    const auto name = quote + 1;
    quote = text.find('"', name);
    to[prefix + text.substr(name, quote - name)] = std::stod(text.substr(quote + 2));
  }
}

/// The members of [{"of":...},...] that begins at `at`.
inline std::map<std::string, PlannedRanks::Form> read_forms(const std::string& text, std::string::size_type at) {
  std::map<std::string, PlannedRanks::Form> forms;
  const std::string key = "{\"of\":\"";
  for (at = text.find(key, at); at != std::string::npos; at = text.find(key, at)) {
    at += key.size();
    const auto number = [&](const char* name) { return std::stod(text.substr(value_at(text, name, at))); };
    const auto begin = value_at(text, "formulas", at);
    forms[text.substr(at, text.find('"', at) - at)] = {number("planned"), number("closed_form"),
                                                       text.compare(value_at(text, "off", at), 4, "true") == 0,
                                                       text.substr(begin, text.find(']', begin) - begin)};
  }
  return forms;
}

inline PlannedRanks read_class(const std::string& text) {
  PlannedRanks one;
  for (const char* key : {"count", "held_gradients_bytes", "working_bytes", "working_value_bytes"})
    one.numbers[key] = std::stod(text.substr(value_at(text, key)));
  one.sent_meanwhile = std::stod(text.substr(value_at(text, "sent_while_computing_bytes")));
  for (const char* key : {"planned_bytes", "sent_bytes"})
    read_numbers(text, value_at(text, key), std::string(key) + ".", one.numbers);
  const auto begin = value_at(text, "ranks"), end = text.find("]]", begin);
  for (auto at = text.find('[', begin + 1); at < end; at = text.find('[', at + 1)) {
    std::size_t read = 0;
    const int first = std::stoi(text.substr(at + 1), &read);
    one.stretches.emplace_back(first, std::stoi(text.substr(at + 2 + read)));
  }
  one.forms = read_forms(text, value_at(text, "closed_forms"));
  one.fits = text.compare(value_at(text, "fits"), 4, "true") == 0;
  return one;
}

}  // namespace detail

inline Planned plan_of(const std::string& script, const std::string& manifest,
                       const std::vector<std::string>& arguments, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> command{"plan", "--json"};
  command.insert(command.end(), flags.begin(), flags.end());
  const ProcessResult result = run_parity(command, script, manifest, arguments);
  Planned planned{result.exit_code, result.err, 0, {}};
  if (result.out.empty()) return planned;
  planned.parameters = std::stod(result.out.substr(detail::value_at(result.out, "parameters")));
  constexpr const char* kClass = "{\"count\":";
  for (auto at = result.out.find(kClass); at != std::string::npos;) {
    const auto next = result.out.find(kClass, at + 1);
    planned.classes.push_back(detail::read_class(result.out.substr(at, next - at)));
    at = next;
  }
  return planned;
}

}  // namespace baleen::test
