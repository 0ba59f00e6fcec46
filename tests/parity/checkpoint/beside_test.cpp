/// \file Runs with programs that learn between their steps: what is saved holds all that was done for a step, once.
#include <cmath>
#include <cstring>

#include "parity/checkpoint/checkpointed_run.hpp"

namespace baleen::test {
namespace {

class Beside : public testing::TestWithParam<SplitWork> {
 protected:
  ProcessResult run(const std::string& order, const std::vector<std::string>& options,
                    const std::vector<std::string>& arguments = {}) const {
    std::vector<std::string> words{"run", source_dir() + "/tests/parity/checkpoint/beside.lua"};
    if (!GetParam().axes.empty())
      words.insert(words.end(), {"--manifest", folder_.write("ranks.toml", GetParam().manifest())});
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "--order", order});
    words.insert(words.end(), arguments.begin(), arguments.end());
    ProcessOptions process;
    process.limit = std::chrono::minutes(1);
    return run_baleen(words, process);
  }
  static std::vector<std::string> saving(const std::string& folder) {
    return {"--set", "checkpoint.folder=" + folder, "--set", "checkpoint.every=1", "--set", "checkpoint.keep=0"};
  }
  const TemporaryFolder folder_;
};

/// The last one too: there a resumed run has nothing left to do.
TEST_P(Beside, EndsInTheSameBitsFromEveryCheckpoint) {
  for (const std::string order : {"behind", "before", "often", "once", "evaluated"}) {
    const std::string whole = folder_ / order, file = folder_ / (order + ".safetensors");
    std::vector<std::string> options = saving(whole);
    options.insert(options.end(), {"--save", file});
    const ProcessResult first = run(order, options);
    ASSERT_EQ(first.exit_code, 0) << order << ": " << first.err;
    for (int step = 1; step <= 6; ++step) {
      const std::string resumed = folder_ / "resumed.safetensors";
      const ProcessResult second =
          run(order, {"--resume", whole + "/step-00000000" + std::to_string(step), "--save", resumed});
      ASSERT_EQ(second.exit_code, 0) << order << ": " << second.err;
      // The last evaluation comes again behind a run that has all its steps.
      if (step < 6 || order != "evaluated") {
        EXPECT_EQ(read_file(resumed), read_file(file)) << order << ", step " << step;
      }
    }
  }
}

TEST_P(Beside, SavesWhatALastEvaluationTeaches) {
  const std::string file = folder_ / "all.safetensors", own = folder_ / "own.safetensors";
  std::vector<std::string> options = saving(folder_ / "c");
  options.insert(options.end(), {"--save", file});
  const ProcessResult result = run("evaluated", options, {"--own", own});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(file), read_file(own));
  const std::string loaded = folder_ / "loaded.safetensors";
  ASSERT_EQ(run("behind", {"--load", folder_ / "c", "--steps", "0", "--save", loaded}).exit_code, 0);
  const auto numbers = [](const std::string& path) {  // behind the header, which holds facts too
    const std::string all = read_file(path);
    std::uint64_t header = 0;
    std::memcpy(&header, all.data(), std::min(sizeof header, all.size()));
    return all.substr(std::min(all.size(), sizeof header + header));
  };
  EXPECT_EQ(numbers(loaded), numbers(own));
}

/// Step 4 is saved and evaluated, the program learns behind that, and what it has come to is saved too.
TEST_P(Beside, KeepsTheBestAsItWasMeasured) {
  const std::string kept = folder_ / "best", at_4 = kept + "/step-000000004";
  std::vector<std::string> options = saving(kept);
  options.insert(options.end(), {"--set", "checkpoint.best=true", "--steps", "4"});
  ASSERT_EQ(run("evaluated", options).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(read_file(kept + "/best"))["name"], "step-000000004");
  EXPECT_NE(state_of(at_4 + ".best"), state_of(at_4));
  EXPECT_FALSE(inspected(at_4)["facts"].contains("held_out_loss")) << "it was measured before the program learned";
  const auto evaluated = [&](const std::string& checkpoint) {
    const ProcessResult result = run_baleen({"evaluate", source_dir() + "/tests/parity/checkpoint/beside.lua", "--load",
                                             checkpoint, "--json", "--", "--order", "behind"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["held_out_loss"].get<double>();
  };
  const double best = nlohmann::json::parse(read_file(kept + "/best"))["held_out_loss"].get<double>();
  EXPECT_NEAR(evaluated(at_4 + ".best"), best, 1e-6 * best);
  EXPECT_GT(std::abs(evaluated(at_4) - best), 1e-4 * best);
}

INSTANTIATE_TEST_SUITE_P(On, Beside,
                         testing::Values(SplitWork{"one", {}}, SplitWork{"data", {{"data", 2}}, strategy("data")},
                                         SplitWork{"zero3", {{"data", 2}}, strategy("zero", "stage = 3\n")}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
