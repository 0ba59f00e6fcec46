/// \file A small job on several ranks that cannot be, and how it must be refused.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/process.hpp"
#include "support/refusal.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

class Ranks : public ::testing::Test {
 protected:
  static constexpr const char* kRows =
      "table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } }, held_out = 0 }";

  /// A job of two steps; `data` follows "baleen.data.", `more` are further fields of the job.
  std::string script(const std::string& more, const std::string& data = kRows) const {
    return folder_.write("train.lua",
                         "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal points = baleen.data." + data +
                             "\nreturn baleen.job { model = nn.linear { out = points.classes }, data = points,\n"
                             "  steps = 2, loss = nn.cross_entropy {}, optimizer = baleen.optimizer('sgd'),\n"
                             "  " +
                             more + " }\n");
  }
  static std::vector<std::string> on_ranks(int ranks, const std::string& script, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",           script,       "--set", "mesh.data=" + std::to_string(ranks),
                                   "--plugin-path", UNEVEN_FOLDER};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  ProcessResult run(int ranks, const std::string& script, const std::vector<std::string>& more = {}) const {
    return run_baleen(on_ranks(ranks, script, more));
  }
  /// One line for all ranks, and before the first step.
  static void expect_refused(const ProcessResult& result, const std::string& part, int exit_code = 2) {
    expect_refusal(result, {.exit_code = exit_code, .parts = {part}, .lines = 1, .before = Before::kNoStep});
  }
  std::string mark() const { return "mark = '" + (folder_ / "mark") + "'"; }

  const TemporaryFolder folder_;
};

}  // namespace baleen::test
