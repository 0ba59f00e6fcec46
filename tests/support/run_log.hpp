/// \file The log that a run wrote with --log-json, record by record.
#pragma once
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace baleen::test {

/// The records of one kind ("step", "evaluate"), in order; `log`: the text of the file. A last line without its end is
/// still being written, and no record yet.
inline std::vector<nlohmann::json> records_in(const std::string& log, const std::string& kind) {
  std::vector<nlohmann::json> records;
  std::istringstream lines(log.substr(0, log.rfind('\n') + 1));
  for (std::string line; std::getline(lines, line);)
    if (nlohmann::json record = nlohmann::json::parse(line); record.at("kind") == kind)
      records.push_back(std::move(record));
  return records;
}

/// A fact of each step that has it, in order: every bit, and NaN for what is no finite number.
inline std::vector<double> steps_in(const std::string& log, const std::string& fact) {
  std::vector<double> numbers;
  for (const nlohmann::json& record : records_in(log, "step"))
    if (const auto found = record.find(fact); found != record.end())
      numbers.push_back(found->is_number() ? found->get<double>() : NAN);
  return numbers;
}

using ByStep = std::map<std::int64_t, double>;

/// A fact of the records of one kind that have it, every bit. Throws where it is no finite number.
inline ByStep by_step(const std::string& log, const std::string& kind, const std::string& fact) {
  ByStep numbers;
  for (const nlohmann::json& record : records_in(log, kind))
    if (const auto found = record.find(fact); found != record.end())
      numbers[record.at("step").get<std::int64_t>()] = found->get<double>();
  return numbers;
}

}  // namespace baleen::test
