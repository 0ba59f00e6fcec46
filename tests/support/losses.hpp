/// \file The losses that a run wrote with --log-json.
#pragma once
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace baleen::test {

using Losses = std::vector<std::string>;

/// Of its steps, every digit.
inline Losses losses_in(const std::string& file) {
  std::ifstream lines(file);
  const std::regex loss("\"loss\":([^,}]*)");
  Losses found;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"kind\":\"step\"") != std::string::npos && std::regex_search(line, match, loss))
      found.push_back(match[1]);
  return found;
}

}  // namespace baleen::test
