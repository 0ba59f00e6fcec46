/// \file Runs on the plugin cuda, emulated (tests/support/emulated_cuda), and what their logs say.
#pragma once
#include "parity/parity_run.hpp"

namespace baleen::test {

/// The losses in a run's log, in order.
inline std::vector<double> losses_in(const std::string& log) {
  std::vector<double> losses;
  const std::string key = "\"loss\":";
  for (std::size_t at = log.find("\"kind\":\"step\""); at != log.npos; at = log.find("\"kind\":\"step\"", at + 1)) {
    const std::size_t begin = log.find(key, at);
    losses.push_back(std::stod(log.substr(begin + key.size())));
  }
  return losses;
}

inline const std::string kEmulated = "[compute]\nplugin = \"cuda\"\nlibraries = [\"" + emulated_folder() +
                                     "\"]\ncache = \"" + emulated_folder() + "/cache\"\n";

}  // namespace baleen::test
