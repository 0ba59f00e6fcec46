/// \file `baleen run` of texts of scripts.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

class Scripts : public ::testing::Test {
 protected:
  /// `baleen run` of the text, and of the words after it.
  ProcessResult run(const std::string& text, const std::vector<std::string>& words = {}) const {
    std::vector<std::string> all{"run", folder_.write("train.lua", text)};
    all.insert(all.end(), words.begin(), words.end());
    return run_baleen(all);
  }
  void expect_refused(const std::string& text, const std::string& message, const std::vector<std::string>& words = {}) {
    expect_refusal(run(text, words), {.whole = message});
  }
  std::string script() const { return folder_ / "train.lua"; }

  const TemporaryFolder folder_;
};

/// A whole job over four points, with `model` from line 6 on.
inline std::string job_with(const std::string& model) {
  return R"(local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } }, held_out = 0 }
return baleen.job { data = points, batch = 2, steps = 1, loss = nn.cross_entropy {},
  optimizer = baleen.optimizer("sgd"), model =
)" + model +
         "\n}\n";
}

}  // namespace baleen::test
