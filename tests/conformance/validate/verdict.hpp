/// \file What `baleen validate` says of a plugin.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

using Json = nlohmann::json;

inline constexpr int kCaseFailed = 1;

struct Verdict {
  ProcessResult process;
  std::map<std::string, Json> cases;  ///< by name

  std::string result(const std::string& name) const {
    return cases.contains(name) ? cases.at(name)["result"].get<std::string>() : "absent";
  }
  std::string reason(const std::string& name) const {
    return cases.contains(name) ? cases.at(name)["reason"].get<std::string>() : "";
  }
  std::string failed() const {
    std::string all;
    for (const auto& [name, one] : cases)
      if (one["result"] == "failed") all += name + ": " + one["reason"].get<std::string>() + "\n";
    return all;
  }
};

inline Verdict validate(const std::string& file, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"validate", file, "--json"};
  all.insert(all.end(), words.begin(), words.end());
  Verdict verdict{run_baleen(all), {}};
  const Json json = Json::parse(verdict.process.out, nullptr, false);
  if (json.is_discarded()) return verdict;
  for (const Json& one : json["cases"]) verdict.cases[one["name"]] = one;
  return verdict;
}

inline std::vector<std::string> set_words(const std::vector<std::string>& sets) {
  std::vector<std::string> words;
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return words;
}

}  // namespace baleen::test
