/// \file The test program with its ranks (tests/support/rank_program), started and judged.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/running_job.hpp"

namespace baleen::test {

inline std::vector<std::string> rank_program(std::vector<std::string> words) {
  words.insert(words.begin(), build_dir() + "/tests/rank_program");
  return words;
}

/// Runs it to its end and sees to it that nothing is left of it.
inline ProcessResult run_ranks(const std::vector<std::string>& words) {
  RunningJob job(rank_program(words));
  const auto code = job.ends();
  EXPECT_TRUE(code) << "it hangs; so far:\n" << job.out() << job.err();
  EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return job.processes().empty(); })) << "an orphan is left";
  return {code.value_or(-1), !code, job.out(), job.err()};
}

using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The process of a rank, from the lines of the verb `pid`.
inline pid_t process_of(const std::string& out, int rank) {
  const std::string mark = rank == 0 ? "pid " : "[rank " + std::to_string(rank) + "] pid ";
  for (const std::string& line : lines_of(out))
    if (line.starts_with(mark)) return std::stoi(line.substr(mark.size()));
  return -1;
}

}  // namespace baleen::test
