/// \file What `baleen run` says of a run of several ranks that cannot be: one line, once for all ranks, before the first step.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

class Ranks : public ::testing::Test {
 protected:
  /// `job`: what follows `return baleen.job`, over four rows of two features; `data` replaces them.
  ProcessResult run(int ranks, const std::string& job, std::vector<std::string> words = {},
                    const std::string& data = "{ rows = { { 1, 2, 0 }, { 3, 4, 1 }, { 5, 6, 0 }, { 7, 8, 1 } }, held_out = 0 }",
                    const std::string& member = "table") {
    const std::string script = folder_.write("train.lua", "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
                                             "local points = baleen.data." + member + " " + data + "\n"
                                             "return baleen.job { model = nn.linear { out = points.classes }, data = points,\n"
                                             "  steps = 2, loss = nn.cross_entropy {}, optimizer = baleen.optimizer('sgd'),\n"
                                             "  " + job + " }\n");
    words.insert(words.begin(), {"run", script, "--set", "mesh.data=" + std::to_string(ranks)});
    return run_baleen(words);
  }
  static void expect_refused(const ProcessResult& result, const std::string& part, int exit_code = 2) {
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
  }

  const TemporaryFolder folder_;
};

TEST_F(Ranks, RunWhereNothingIsWrong) {
  const ProcessResult result = run(2, "batch = 4");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("rank 1"), std::string::npos) << result.out;  // the closing summary
}

TEST_F(Ranks, MoreThanTheBatchCanFeed) {
  expect_refused(run(4, "batch = 3"),
                 "a batch of 3 rows cannot feed the 4 ranks along `data`; take a batch of 4 or more, or fewer ranks");
}

TEST_F(Ranks, AnAxisThatNoStrategyClaims) {
  expect_refused(run(2, "batch = 4", {"--set", "mesh.order=[\"data\",\"sideways\"]", "--set", "mesh.sideways=2"}),
                 "mesh axis `sideways` has 2 ranks, and no strategy of the plan works along it");
}

TEST_F(Ranks, AStrategyAlongAnAbsentAxis) {
  expect_refused(run(2, "batch = 4, plan = { baleen.strategy('data', { axis = 'rows' }) }"),
                 "strategy `data` works along the mesh axis `rows`, and the mesh has none; name one of `data`");
}

TEST_F(Ranks, AnUnknownStrategyAndAnUnknownOption) {
  expect_refused(run(2, "batch = 4, plan = { baleen.strategy('dta') }"), "unknown strategy plugin `dta`; did you mean `data`?");
  expect_refused(run(2, "batch = 4, plan = { baleen.strategy('data', { buckets = 2 }) }"),
                 "strategy `data`: unknown option `buckets`");
}

TEST_F(Ranks, AnUnknownTransport) {
  expect_refused(run(2, "batch = 4", {"--set", "transport.plugin=\"smh\""}), "unknown transport plugin `smh`; did you mean `shm`?");
}

TEST_F(Ranks, OneFailsInTheScript) {
  expect_refused(run(3, "batch = 6", {"--plugin-path", BALEEN_ODD_PLUGIN},
                     "{ mark = '" + (folder_ / "mark") + "', fails = true }", "odd"),
                 "this rank has no data");
}

TEST_F(Ranks, OneDescribesAnotherModel) {
  const ProcessResult result =
      run(2, "batch = 4", {"--plugin-path", BALEEN_ODD_PLUGIN}, "{ mark = '" + (folder_ / "mark") + "' }", "odd");
  expect_refused(result, "rank 1 describes another model than rank 0: ");
  EXPECT_NE(result.err.find("[3, 5]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("[3, 4]"), std::string::npos) << result.err;
}

TEST_F(Ranks, AScriptErrorIsSaidOnce) {
  expect_refused(run(3, "batch = 'many'"), "`batch` is ");
}

}  // namespace
}  // namespace baleen::test
