/// \file `baleen evaluate` gives the numbers that the run itself had at its end.
#include <cmath>

#include "parity/trained/trained_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {
namespace {

class Evaluate : public testing::TestWithParam<TrainedSplit> {
 protected:
  static nlohmann::json evaluated(const std::vector<std::string>& words, const TrainedSplit& split,
                                  const std::vector<std::string>& own) {
    std::vector<std::string> all{"--json"};
    all.insert(all.end(), words.begin(), words.end());
    const ProcessResult result = run_trained("evaluate", all, split, own);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
};

TEST_P(Evaluate, IsWhatTheRunHadAtItsEnd) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const TemporaryFolder folder;
  const std::string file = folder / "p.safetensors", checkpoints = folder / "checkpoints";
  const std::vector<std::string> own{"--data", folder.write("rows.csv", table_text("classify"))};
  const ProcessResult trained =
      run_trained("run", {"--save", file, "--log-json", folder / "log", "--set", "checkpoint.folder=" + checkpoints},
                  GetParam(), own);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const nlohmann::json last = records_in(read_file(folder / "log"), "evaluate").back();
  for (const std::string& from : {file, checkpoints}) {
    const nlohmann::json there = evaluated({"--load", from}, GetParam(), own);
    EXPECT_EQ(there.at("held_out_loss").get<double>(), last.at("held_out_loss").get<double>());
    EXPECT_EQ(there.at("held_out_accuracy").get<double>(), last.at("held_out_accuracy").get<double>());
    EXPECT_EQ(there.at("rows"), 25);
    const nlohmann::json alone = evaluated({"--load", from}, trained_splits()[0], own);
    EXPECT_NEAR(alone.at("held_out_loss"), last.at("held_out_loss"), 1e-12);
    EXPECT_NEAR(alone.at("held_out_accuracy"), last.at("held_out_accuracy"), 1e-12);
  }
  const nlohmann::json half = evaluated({"--load", file, "--load-except", "first.*"}, GetParam(), own);
  EXPECT_GT(half.at("held_out_loss"), last.at("held_out_loss").get<double>() + 1e-3) << "nothing was learnt";
}

TEST_F(Evaluate, ReadsAsManyBatchesAsTheScriptOrTheUserSays) {
  const TemporaryFolder folder;
  const std::string file = folder / "p.safetensors";
  const std::vector<std::string> own{
      "--data", folder.write("rows.csv", table_text("regress")), "--task", "regress", "--batches", "2"};
  const TrainedSplit one = trained_splits()[0];
  const ProcessResult trained = run_trained("run", {"--save", file, "--log-json", folder / "log"}, one, own);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const nlohmann::json last = records_in(read_file(folder / "log"), "evaluate").back();
  const nlohmann::json two = evaluated({"--load", file}, one, own);
  EXPECT_EQ(two.at("held_out_loss"), last.at("held_out_loss"));
  EXPECT_EQ(two.at("rows"), 16);
  const nlohmann::json all = evaluated({"--load", file, "--batches", "0"}, one, own);
  EXPECT_EQ(all.at("rows"), 25);
  EXPECT_NE(all.at("held_out_loss"), two.at("held_out_loss"));
}

TEST_F(Evaluate, SpeaksToPeople) {
  const TemporaryFolder folder;
  const std::string file = folder / "p.safetensors";
  const std::vector<std::string> own{"--data", folder.write("rows.csv", table_text("classify"))};
  ASSERT_EQ(run_trained("run", {"--save", file}, trained_splits()[0], own).exit_code, 0);
  const ProcessResult result = run_trained("evaluate", {"--load", file}, trained_splits()[1], own);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("held_out_accuracy  ")) << result.out;
  EXPECT_TRUE(result.out.ends_with("rows                     25\n")) << result.out;
}

INSTANTIATE_TEST_SUITE_P(Trained, Evaluate, testing::ValuesIn(trained_splits()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace baleen::test
