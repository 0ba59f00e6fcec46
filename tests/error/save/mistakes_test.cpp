/// \file A mistake late in a script costs nothing of what was trained.
#include <filesystem>

#include "parity/parity_run.hpp"
#include "small_job.hpp"
#include "support/refusal.hpp"

namespace baleen::test {
namespace {

/// By the number of ranks.
class Mistake : public testing::TestWithParam<int> {
 protected:
  /// A run of five steps with these callbacks, with --save.
  ProcessResult train(const std::string& callbacks, const std::string& file = "model.safetensors") {
    const std::string script = folder_.write("job.lua", small_job(5, "lr = 0.1", callbacks));
    std::vector<std::string> words = {"run", script, "--save", folder_ / file};
    if (GetParam() > 1) words.insert(words.end(), {"--set", "mesh.data=" + std::to_string(GetParam())});
    return run_baleen(words);
  }
  bool is_there(const std::string& name) const { return std::filesystem::exists(folder_ / name); }

  const TemporaryFolder folder_;
};

TEST_P(Mistake, InTheLastEvaluationComesAfterSaving) {
  const ProcessResult result = train("  on_evaluate = function() error('oh') end,\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("job.lua:8: oh"), std::string::npos) << result.err;
  EXPECT_TRUE(is_there("model.safetensors"));
  EXPECT_FALSE(is_there("model.after-step-5.safetensors"));
}

TEST_P(Mistake, InACallbackLeavesWhatWasTrainedBeside) {
  const ProcessResult result = train("  on_step = function(facts) if facts.step == 3 then error('oh') end end,\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(is_there("model.safetensors"));
  EXPECT_TRUE(is_there("model.after-step-3.safetensors"));
  EXPECT_NE(result.err.find("the parameters after step 3 are saved in " + (folder_ / "model.after-step-3.safetensors")),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("job.lua:8: oh"), std::string::npos) << result.err;
}

/// What is written first has a longer name.
TEST_P(Mistake, InALongNameIsToldBeforeTheFirstStep) {
  const std::string longest = std::string(240, 'x') + ".safetensors";
  expect_refusal(train("", longest), {.parts = {": cannot be saved to: its name has 252 bytes, and may have "},
                                      .before = Before::kNothing});
  const std::string fits = std::string(150, 'x') + ".safetensors";
  const ProcessResult result =
      train("  on_step = function(facts) if facts.step == 3 then error('oh') end end,\n", fits);
  EXPECT_TRUE(is_there(std::string(120, 'x') + ".after-step-3.safetensors")) << result.err;
  EXPECT_EQ(train("", fits).exit_code, 0);
  EXPECT_TRUE(is_there(fits));
}

TEST_P(Mistake, BeforeTheFirstStepSavesNothing) {
  const ProcessResult result = train("  loop = function() error('oh') end,\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Ranks, Mistake, testing::Values(1, 2));

}  // namespace
}  // namespace baleen::test
