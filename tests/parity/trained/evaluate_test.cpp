/// \file `baleen evaluate` gives the numbers that the run itself had at its end.
#include <cmath>
#include <sstream>

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

/// Strategies that give the train graph another shape, or other numbers.
TEST_F(Evaluate, OfAnyStrategyIsWhatTheRunHadAtItsEnd) {
  const TemporaryFolder folder;
  const std::string file = folder / "p.safetensors",
                    rows = folder.write("rows.txt", read_file(source_dir() + "/README.md").substr(0, 300));
  for (const auto& [axis, plan] : std::vector<std::pair<std::string, std::string>>{
           {"pipeline", "[[plan]]\nstrategy = \"pipeline\"\n"},
           {"sequence", "[[plan]]\nstrategy = \"sequence\"\n"},
           {"data", "[[plan]]\nstrategy = \"data\"\n[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n"},
           {"data", "[[plan]]\nstrategy = \"data\"\n[[plan]]\nstrategy = \"recompute\"\nmode = \"full\"\n"},
           {"data", "[[plan]]\nstrategy = \"zero\"\nstage = 1\n[[plan]]\nstrategy = \"offload\"\n"},
           {"data",
            "[[plan]]\nstrategy = \"zero\"\nstage = 3\n[[plan]]\nstrategy = \"offload\"\nparameters = "
            "[\"*\"]\nmin_elements = 16\n"}}) {
    const std::string manifest = manifest_of({{axis, 2}}, plan);
    if (!missing_strategy(manifest).empty()) continue;
    SCOPED_TRACE(manifest);
    const ProcessResult trained = run_parity({"run", "--steps", "4", "--save", file, "--log-json", folder / "log"},
                                             "gpt", manifest, {"accumulate=4"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const nlohmann::json last = records_in(read_file(folder / "log"), "evaluate").back();
    const ProcessResult result = run_parity({"evaluate", "--load", file, "--json"}, "gpt", manifest, {"accumulate=4"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(nlohmann::json::parse(result.out).at("held_out_loss"), last.at("held_out_loss"));
    std::string predicted[2];
    for (const bool alone : {false, true}) {
      const ProcessResult said = run_parity({"predict", "--load", file, "--data", rows, "--out", folder / "out.jsonl"},
                                            "gpt", alone ? manifest_of({{"data", 1}}, "") : manifest, {"accumulate=4"});
      ASSERT_EQ(said.exit_code, 0) << said.err;
      predicted[alone] = read_file(folder / "out.jsonl");
    }
    std::istringstream many(predicted[0]), one(predicted[1]);
    int lines = 0;
    for (std::string a, b; std::getline(many, a) && std::getline(one, b); ++lines) {
      const nlohmann::json x = nlohmann::json::parse(a), y = nlohmann::json::parse(b);
      for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(x.at("probability")[i], y.at("probability")[i], 1e-3);
    }
    EXPECT_EQ(lines, 24);
  }
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
