/// \file How a command is refused: its exit code, what it says, and what it has printed before.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace baleen::test {

/// What may stand on standard output beside a refusal.
enum class Before { kAnything, kNoStep, kNothing };

/// How a command is refused. What is left out is not looked at, but for the exit code and the "error: " that stderr
/// begins with.
struct Refused {
  int exit_code = 2;
  bool after_others = false;            ///< lines of others (a warning, the shell of a host) may stand before "error: "
  std::string begins = {};              ///< how the line goes on after "error: "
  std::string whole = {};               ///< all that follows "error: ", without the end of the last line
  std::vector<std::string> parts = {};  ///< of stderr, in any order
  int lines = 0;                        ///< of stderr
  Before before = Before::kAnything;
};

inline void expect_refusal(const ProcessResult& result, const Refused& how) {
  const std::string& err = result.err;
  EXPECT_EQ(result.exit_code, how.exit_code) << result.out << err;
  const std::string begin = "error: " + how.begins;
  EXPECT_TRUE(err.starts_with(begin) || (how.after_others && err.find("\n" + begin) != std::string::npos))
      << "`" << begin << "` does not begin:\n"
      << err;
  if (!how.whole.empty()) {
    EXPECT_EQ(err, "error: " + how.whole + "\n");
  }
  for (const std::string& part : how.parts)
    EXPECT_NE(err.find(part), std::string::npos) << "`" << part << "` is not in:\n" << err;
  if (how.lines > 0) {
    EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), how.lines) << err;
  }
  if (how.before == Before::kNoStep) {
    EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out << err;
  }
  if (how.before == Before::kNothing) {
    EXPECT_EQ(result.out, "") << err;
  }
}

}  // namespace baleen::test
