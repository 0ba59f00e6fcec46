/// \file What `baleen run` says of a wrong script: exit status 2, the user's own line first. Every single message is
/// tested beside the script host (tests/unit/script); these show that they reach the user whole.
#include <gtest/gtest.h>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class Scripts : public ::testing::Test {
 protected:
  /// `baleen run` of the text, and of the words after it.
  ProcessResult run(const std::string& text, const std::vector<std::string>& words = {}) const {
    std::vector<std::string> all{"run", folder_.write("train.lua", text)};
    all.insert(all.end(), words.begin(), words.end());
    return run_baleen(all);
  }
  void expect_refused(const std::string& text, const std::string& message, const std::vector<std::string>& words = {}) {
    const ProcessResult result = run(text, words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_EQ(result.err, "error: " + message + "\n");
  }
  std::string script() const { return folder_ / "train.lua"; }

  const TemporaryFolder folder_;
};

/// A whole job over four points, with `model` from line 6 on.
std::string job_with(const std::string& model) {
  return R"(local baleen = require "baleen"
local nn, ops = baleen.nn, baleen.ops
local points = baleen.data.table { rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } }, held_out = 0 }
return baleen.job { data = points, batch = 2, steps = 1, loss = nn.cross_entropy {},
  optimizer = baleen.optimizer("sgd"), model =
)" + model +
         "\n}\n";
}

TEST_F(Scripts, SyntaxError) {
  expect_refused("local x =\nreturn = 1\n", script() + ":2: unexpected symbol near 'return'");
}

TEST_F(Scripts, RuntimeErrorWithTheCallsThatLedThere) {
  expect_refused("local function make()\n  return nil + 1\nend\nlocal x = make()\n",
                 script() + ":2: attempt to perform arithmetic on a nil value\n  called from " + script() + ":4");
}

TEST_F(Scripts, NoJob) {
  expect_refused("print 'hello'\n",
                 script() + ": the script returns nothing; its last line must be `return baleen.job { ... }`");
}

TEST_F(Scripts, WrongShapesNameTheLayerAndBothShapes) {
  expect_refused(job_with("nn.sequential { nn.residual { name = 'wide', nn.linear { out = 3 } } }"),
                 script() +
                     ":6: wide: pointwise x0 + x1: dimension 1 is 3 in x1 [2, 3] and 2 before it, in [2, 2]; "
                     "extents must be equal or 1");
}

TEST_F(Scripts, UnknownOptionOfALayer) {
  expect_refused(job_with("nn.linear { out = 2, bais = false }"),
                 script() + ":6: linear: unknown option `bais`; did you mean `bias`?");
}

TEST_F(Scripts, UnknownDataPlugin) {
  const ProcessResult result = run("local data = require('baleen').data\nlocal d = data.tabel {}\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(script() + ":2: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did you mean `table`?"), std::string::npos) << result.err;
}

TEST_F(Scripts, UnknownOptionOfDataAndOptimizer) {
  const ProcessResult data = run("local data = require('baleen').data\nlocal d = data.table { row = { { 1, 2 } } }\n");
  EXPECT_NE(data.err.find(script() + ":2: data `table`: unknown option `row`; did you mean `rows`?"), std::string::npos)
      << data.err;
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("\"sgd\""), 5, "\"sgd\", { momentumm = 0.9 }");
  const ProcessResult optimizer = run(text);
  EXPECT_NE(optimizer.err.find(script() + ":5: optimizer `sgd`: unknown option `momentumm`; did you mean `momentum`?"),
            std::string::npos)
      << optimizer.err;
}

TEST_F(Scripts, UnknownScriptArgument) {
  std::string text = job_with("nn.linear { out = baleen.arg('width', 2) }");
  expect_refused(text, "command line: unknown script argument `widht`; did you mean `width`?", {"--", "--widht", "3"});
}

TEST_F(Scripts, ATypedPathIsRelativeToTheWorkingFolder) {
  const TemporaryFolder elsewhere;
  elsewhere.write("points.csv", "1,2,0\n3,4,1\n5,6,0\n7,8,1\n");
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("{ rows"), text.find("held_out") - text.find("{ rows"),
               "{ path = baleen.arg('data', 'absent.csv'), ");
  const std::string script = folder_.write("train.lua", text);
  ProcessOptions there;
  there.folder = elsewhere.path();
  EXPECT_EQ(run_baleen({"run", script, "--", "--data", "points.csv"}, there).err, "");
  EXPECT_EQ(run_baleen({"run", script, "--", "--data=points.csv"}, there).exit_code, 0);
  EXPECT_NE(run(text).err.find(folder_ / "absent.csv"), std::string::npos);  // a script's own path: beside the script
}

/// Before the first step, and not at the evaluation behind the last one.
TEST_F(Scripts, HeldOutRowsThatAreLessThanABatch) {
  std::string text = job_with("nn.linear { out = 2 }");
  text.replace(text.find("held_out = 0"), 12, "held_out = 0.25");
  expect_refused(text, script() +
                           ":4: the data holds out 1 rows, fewer than a batch of 2, so they cannot be evaluated; "
                           "hold out more, take a smaller batch, or hold out nothing (`held_out = 0`)");
}

TEST_F(Scripts, AGroupOfParametersThatNobodyHas) {
  std::string text = job_with("nn.sequential { name = 'head', nn.linear { out = 2 } }");
  text.replace(text.find("\"sgd\")"), 6, "\"sgd\", { groups = { { match = \"heat.*\", frozen = true } } })");
  expect_refused(text, script() +
                           ":5: a group of optimizer `sgd`: no parameter matches `heat.*`; did you mean "
                           "`head.*`?");
}

TEST_F(Scripts, ACallbackThatFails) {
  std::string text = job_with("nn.linear { out = 2 }, on_step = function()\n  error('enough')\nend");
  const ProcessResult result = run(text);
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.err.find("error: " + script() + ":7: enough"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
