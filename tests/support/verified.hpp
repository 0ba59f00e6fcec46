/// \file What `baleen verify` says where ranks compute what one rank computes.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "support/process.hpp"

namespace baleen::test {

/// Of a run of `baleen verify`.
inline void expect_equal(const ProcessResult& result, int steps = 20, const std::string& dtype = "fp64") {
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find(" " + std::to_string(steps) + " steps in " + dtype + "\n"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("\nEQUAL within the tolerance\n"), std::string::npos) << result.out;
}

}  // namespace baleen::test
