/// \file The losses that a run wrote with --log-json.
#pragma once
#include <fstream>
#include <string>
#include <vector>

namespace baleen::test {

using Losses = std::vector<std::string>;

/// Of its steps, every digit.
inline Losses losses_in(const std::string& file) {
  std::ifstream lines(file);
  const std::string key = "\"loss\":";
  Losses found;
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(key);
    if (line.find("\"kind\":\"step\"") == std::string::npos || at == std::string::npos) continue;
    const auto begin = at + key.size();
    found.push_back(line.substr(begin, line.find_first_of(",}", begin) - begin));
  }
  return found;
}

}  // namespace baleen::test
