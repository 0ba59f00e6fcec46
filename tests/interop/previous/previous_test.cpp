/// \file Plugins that were built against the SDK of earlier minor versions load into this program and work.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "support/process.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

/// A classifier of the rings, with an optimizer that the command line names.
constexpr const char* kJob = R"(
local baleen = require "baleen"
local nn = baleen.nn
local rings = baleen.data.rings { rows = 1024, noise = 0.05 }
return baleen.job {
  model = nn.sequential { nn.linear { out = 32, init = baleen.init.fan_in(2) }, nn.tanh {},
                          nn.linear { out = rings.classes, init = baleen.init.fan_in(2) } },
  loss = nn.cross_entropy {}, data = rings, batch = 32, steps = 400, seed = 1,
  optimizer = baleen.optimizer(baleen.arg("optimizer", ""), { lr = 0.5 }),
}
)";

class Previous : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the committed plugins are for x86-64";
#endif
  }

  /// Trains with the optimizer `name`; the monitor of 1.0 writes the file `lines`, that of checkpoints
  /// `model.previous`.
  ProcessResult train(const std::string& name) const {
    return run_baleen({"run", folder_.write("job.lua", kJob), "--plugin-path", plugins_, "--log-previous",
                       folder_ / "lines", "--save", folder_ / "model.previous", "--", "--optimizer", name});
  }

  const std::string plugins_ = source_dir() + "/tests/interop/previous/plugins";
  const TemporaryFolder folder_;
};

/// The classes are equally likely, so a loss of ln 2 = 0.69 is what knows nothing; the rings are far enough apart to
/// get well below it.
TEST_F(Previous, OptimizersDatasetsAndMonitorsTrain) {
  for (const std::string name : {"descent", "descent_c"}) {
    const ProcessResult result = train(name);
    ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
    std::ifstream lines(folder_ / "lines");
    double last = 1e9;
    int kind = 0, steps = 0;
    long long step = 0;
    for (double loss = 0; lines >> kind >> step >> loss;)
      if (kind == 2) {
        EXPECT_EQ(step, ++steps);
        last = loss;
      }
    EXPECT_EQ(steps, 400);
    EXPECT_EQ(kind, 5) << "the last record finishes the run";
    EXPECT_LT(last, 0.4) << name;
  }
}

TEST_F(Previous, CheckpointsAreWritten) {
  const ProcessResult result = train("descent");
  ASSERT_EQ(result.exit_code, 0) << result.out << result.err;
  // fp32: two layers, 2 × 32 and 32 × 2 weights, 32 and 2 biases.
  std::ifstream file(folder_ / "model.previous");
  long long bytes = 0, dtype = 0, all = 0;
  int tensors = 0;
  for (std::string name; file >> name >> dtype >> bytes; ++tensors) {
    EXPECT_EQ(dtype, 1) << name;
    all += bytes;
  }
  EXPECT_EQ(tensors, 4);
  EXPECT_EQ(all, 4 * (2 * 32 + 32 + 32 * 2 + 2));
}

/// What one job has saved, another one loads and saves again: bit for bit the same, and not what it begins with itself.
TEST_F(Previous, CheckpointsAreLoaded) {
  const auto save = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{"run",
                                   folder_.write("job.lua", kJob),
                                   "--plugin-path",
                                   plugins_,
                                   "--log-previous",
                                   folder_ / "lines",
                                   "--save",
                                   folder_ / name};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--optimizer", "descent"});
    const ProcessResult result = run_baleen(words);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    return read_file(folder_ / name);
  };
  const std::string begun = save("begun.whole", {"--steps", "0"});
  const std::string trained = save("trained.whole", {"--steps", "20"});
  EXPECT_GT(trained.size(), 4 * (2 * 32 + 32 + 32 * 2 + 2));
  EXPECT_NE(trained, begun);
  EXPECT_EQ(save("again.whole", {"--steps", "0", "--load", folder_ / "trained.whole"}), trained);
}

TEST_F(Previous, AFileThatTheirCheckpointRefusesIsRefused) {
  const std::string file = folder_.write("short.whole", "layer.weight 1 1 4 16\nonly");
  const ProcessResult result =
      run_baleen({"run", folder_.write("job.lua", kJob), "--plugin-path", plugins_, "--log-previous", folder_ / "lines",
                  "--load", file, "--", "--optimizer", "descent"});
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find("the file breaks off"), std::string::npos) << result.err;
}

/// The doctor opens every plugin and asks compute plugins for their devices.
TEST_F(Previous, EveryStableKindOpens) {
  const ProcessResult result = run_baleen({"doctor", "--plugin-path", plugins_});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  for (const std::string text :
       {"descent", "descent_c", "rings", "previous_lines", "previous_list", "previous_none",
        "previous_two 0 the first of 1.0, 1.0 GiB", "previous_two 1 the second of 1.0, 2.0 GiB"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text << " in\n" << result.out;
  std::size_t refused = 0;
  for (std::size_t at = 0; (at = result.out.find("not usable: " + plugins_, at)) != std::string::npos; ++at) ++refused;
  EXPECT_EQ(refused, 1u) << "only the draft\n" << result.out;
}

TEST_F(Previous, DraftsAreToBeBuiltAgain) {
  const std::string file = plugins_ + "/baleen_strategy_previous_draft.so";
  const ProcessResult result = run_baleen({"plugins", "--plugin-path", file});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find(file + ": built for revision 0 of the strategy interface, but this Baleen has revision "),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find(", and the interface is a draft; build it again against this Baleen's SDK"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace baleen::test
