/// \file A program of which one call fails, or is its last.
#pragma once
#include <set>
#include <sstream>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// Options of a process that has the library of support/failing_calls, which says what `calls` may be.
inline ProcessOptions with_failing_calls(const std::string& calls) {
  ProcessOptions options;
  options.environment = {"LD_PRELOAD=" + built("failing_calls/libbaleen_test_failing_calls.so"),
                         "BALEEN_TEST_CALLS=" + calls};
  return options;
}

/// The names of the calls that a run with `path`:count has made, by process, in the order in which they ended counting.
inline std::vector<std::vector<std::string>> counted_calls(const std::string& path) {
  std::istringstream lines(read_file(path + ".calls"));
  std::vector<std::string> processes;
  std::vector<std::vector<std::string>> calls;
  for (std::string process, name; lines >> process >> name;) {
    const auto known = std::find(processes.begin(), processes.end(), process);
    const auto at = static_cast<std::size_t>(known - processes.begin());
    if (known == processes.end()) processes.push_back(process), calls.emplace_back();
    calls[at].push_back(name);
  }
  return calls;
}

}  // namespace baleen::test
