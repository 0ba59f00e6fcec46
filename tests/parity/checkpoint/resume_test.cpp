/// \file A run that is interrupted and resumed ends in the same bits as one that is not.
#include <csignal>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "support/run_log.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

class Resumed : public testing::TestWithParam<SplitWork> {};

TEST_P(Resumed, EndsInTheSameBits) {
  if (const std::string missing = missing_strategy(GetParam().manifest()); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  expect_same_bits_when_resumed(GetParam());
}

SplitWork pipelined(const std::string& schedule, const MeshAxes& axes = {{"pipeline", 2}},
                    const std::string& more = "") {
  return {schedule + (more.empty() ? "" : "_mixed"),
          axes,
          strategy("pipeline", "schedule = \"" + schedule + "\"\n") + more,
          {"--layers", "4", "--accumulate", "4"}};
}

std::vector<SplitWork> splits() {
  return {{"one", {}},
          pipelined("1f1b"),
          pipelined("interleaved"),
          pipelined("zero_bubble"),
          pipelined("zero_bubble_v"),
          pipelined("1f1b", {{"pipeline", 2}, {"data", 2}}, strategy("zero", "stage = 1\naxis = \"data\"\n")),
          {"recompute", {}, strategy("recompute", "mode = \"full\"\n")},
          pipelined("zero_bubble", {{"pipeline", 2}}, strategy("recompute", "mode = \"full\"\n")),
          {"recompute_data", {{"data", 2}}, strategy("data") + strategy("recompute", "mode = \"selective\"\n")},
          {"data", {{"data", 2}}, strategy("data")},
          {"zero1", {{"data", 2}}, strategy("zero", "stage = 1\naxis = \"data\"\n")},
          {"zero2", {{"data", 3}}, strategy("zero", "stage = 2\naxis = \"data\"\n")},
          {"zero3", {{"data", 2}}, strategy("zero", "stage = 3\naxis = \"data\"\n")},
          {"tensor", {{"tensor", 2}}, strategy("tensor")},
          {"tensor2d", {{"tensor", 4}}, strategy("tensor", "mode = \"2d\"\n")},
          {"ulysses", {{"sequence", 2}}, strategy("sequence", "mode = \"ulysses\"\n")},
          {"fp16", {{"data", 2}}, strategy("precision", "dtype = \"fp16\"\n") + strategy("data")},
          {"mixed",
           {{"data", 2}, {"tensor", 2}},
           strategy("precision", "dtype = \"bf16\"\n") + strategy("zero", "stage = 2\naxis = \"data\"\n") +
               strategy("tensor")}};
}
INSTANTIATE_TEST_SUITE_P(On, Resumed, testing::ValuesIn(splits()), [](const auto& info) { return info.param.name; });

TEST(Resume, GoesOnWithMicroBatchesAndOtherOptimizers) {
  for (const std::string optimizer : {"sgd", "lamb", "adafactor", "muon"}) {
    const TemporaryFolder folder;
    const std::string whole = folder / "whole", resumed = folder / "resumed";
    const std::vector<std::string> words{"--optimizer", optimizer, "--accumulate", "2"};
    ASSERT_EQ(run_saved({"", {}}, in_folder(whole) + "every = 7\nkeep = 0\n", {}, words).exit_code, 0);
    ASSERT_EQ(run_saved({"", {}}, in_folder(resumed), {"--resume", whole + "/step-000000007"}, words).exit_code, 0);
    EXPECT_EQ(state_of(resumed), state_of(whole)) << optimizer;
  }
}

TEST(Resume, WritesInGroupsWithinItsMemory) {
  const TemporaryFolder folder;
  const SplitWork two{"", {{"data", 2}}, strategy("data")};
  ASSERT_EQ(run_saved(two, in_folder(folder / "large")).exit_code, 0);
  ASSERT_EQ(run_saved(two, in_folder(folder / "small") + "memory_mb = 0.02\n").exit_code, 0);
  EXPECT_EQ(state_of(folder / "small"), state_of(folder / "large"));
  const auto largest = [&](const std::string& name) {
    std::uintmax_t bytes = 0, files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder / name + "/step-000000012"))
      if (entry.path().extension() == ".safetensors") ++files, bytes = std::max(bytes, entry.file_size());
    return std::pair(files, bytes);
  };
  EXPECT_EQ(largest("large").first, 2u);
  EXPECT_GT(largest("small").first, 8u);
  // 21 KB of tensors, and the header that names and describes them.
  EXPECT_LT(largest("small").second, 21'000u + 16'000u);
}

/// Callbacks and loops draw what they draw in a run that was not interrupted, whatever seed the script chose.
TEST(Resume, DrawsTheSameRandomNumbers) {
  const TemporaryFolder folder;
  std::vector<std::string> ends;
  for (const std::string seed : {"", "math.randomseed(7)"}) {
    const std::string script = folder.write(
        "train.lua",
        "local baleen = require 'baleen'\nlocal rows, l = {}, baleen.nn.linear { name = 'l', out = 2 }\n"
        "for i = 1, 40 do rows[i] = { i / 40, i % 3, i % 2 } end\n"
        "return baleen.job { model = l, loss = baleen.nn.cross_entropy {}, batch = 4, steps = 6,\n"
        "  data = baleen.data.table { rows = rows, held_out = 0 }, optimizer = baleen.optimizer('sgd'),\n"
        "  programs = { learn = { inputs = { x = { shape = { 1, 2 } } }, optimizer = baleen.optimizer('sgd'),\n"
        "    run = function(given) return { loss = l(given.x):sum() } end } },\n"
        "  loop = function(job, run)\n    " +
            seed +
            "\n    for _ = 1, 3 do math.random() end\n"
            "    while run.step_count < job.steps do\n"
            "      run:step()\n"
            "      run:run('learn', { x = { { math.random(), math.random() } } })\n"
            "    end\n"
            "    print('drawn ' .. math.random())\n"
            "  end }\n");
    const auto run = [&](const std::string& name, std::vector<std::string> words) {
      words.insert(words.begin(), {"run", script, "--set", "checkpoint.every=1", "--set", "checkpoint.keep=0", "--set",
                                   "checkpoint.folder=\"" + (folder / (name + seed)) + "\""});
      const ProcessResult result = run_baleen(words);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      const std::size_t at = result.out.find("drawn ");
      EXPECT_NE(at, result.out.npos) << result.out;
      return state_of(folder / (name + seed)) + result.out.substr(at, result.out.find('\n', at) - at);
    };
    ends.push_back(run("whole", {}));
    EXPECT_EQ(run("resumed", {"--resume", folder / ("whole" + seed) + "/step-000000003"}), ends.back()) << seed;
  }
  EXPECT_NE(ends[0], ends[1]) << "the script's own seed counts";
}

/// A chain of layouts: what one has saved the next takes as it is, and all of it learns what one rank alone does.
TEST(Resume, GoesOnAcrossLayouts) {
  const auto zero3 = strategy("zero", "stage = 3\naxis = \"data\"\n");
  std::vector<SplitWork> chain{
      {"zero3", {{"data", 4}}, zero3},
      {"tensor", {{"tensor", 2}}, strategy("tensor")},
      {"one", {}},
      {"mixed",
       {{"data", 2}, {"sequence", 2}, {"tensor", 2}},
       zero3 + strategy("sequence", "mode = \"ulysses\"\n") + strategy("tensor")},
      {"stages", {{"pipeline", 2}, {"data", 2}}, strategy("pipeline") + strategy("data"), {"--accumulate", "2"}},
      {"last", {}}};
  std::erase_if(chain, [](const SplitWork& split) { return !missing_strategy(split.manifest()).empty(); });
  constexpr int kEach = 3;
  const int steps = kEach * static_cast<int>(chain.size());
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl";
  const auto losses = [&](const SplitWork& split, const std::string& into, std::vector<std::string> options) {
    std::filesystem::remove(log);
    options.insert(options.end(), {"--dtype", "fp64", "--steps", std::to_string(steps), "--log-json", log});
    const ProcessResult result =
        run_saved(split, in_folder(folder / into) + "every = " + std::to_string(kEach) + "\nkeep = 0\n", options);
    EXPECT_EQ(result.exit_code, 0) << split.name << ": " << result.err;
    return by_step(read_file(log), "step", "loss");
  };
  const ByStep alone = losses({"alone", {}}, "alone", {});
  ASSERT_EQ(alone.size(), static_cast<std::size_t>(steps));
  std::vector<std::string> options;
  std::string before;
  for (const SplitWork& split : chain) {
    if (!before.empty()) {
      options = {"--resume", before};
      const ProcessResult loaded =
          run_saved(split, in_folder(folder / "again"), {"--dtype", "fp64", "--resume", before}, {"--save", "now"});
      ASSERT_EQ(loaded.exit_code, 0) << split.name << ": " << loaded.err;
      EXPECT_EQ(state_of(folder / "again"), state_of(before)) << split.name;
    }
    const auto here = losses(split, split.name, options);
    const int first = here.empty() ? 0 : static_cast<int>(here.begin()->first);
    ASSERT_EQ(here.size(), static_cast<std::size_t>(steps - first + 1)) << split.name;
    for (const auto& [step, loss] : here)
      EXPECT_NEAR(loss, alone.at(step), 1e-9 * alone.at(step)) << split.name << ", step " << step;
    char name[32];
    std::snprintf(name, sizeof name, "/step-%09d", first - 1 + kEach);
    before = folder / split.name + name;
  }
}

/// What is lost, and what comes of it.
TEST(Resume, TakesTheLatestOrBegins) {
  const TemporaryFolder folder;
  const std::string checkpoint = in_folder(folder / "a") + "every = 4\n";
  const ProcessResult none = run_saved({"", {}}, checkpoint, {"--resume"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("holds no checkpoint to resume from; begin without --resume, or with --resume auto"),
            std::string::npos)
      << none.err;
  const ProcessResult begun = run_saved({"", {}}, checkpoint, {"--resume", "auto"});
  EXPECT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_NE(begun.err.find("begins at step 0"), std::string::npos) << begun.err;
  const std::string end = state_of(folder / "a");
  std::filesystem::remove_all(folder / "a/step-000000012");
  std::ofstream(folder / "a/latest") << "step-000000008\n";
  const ProcessResult again = run_saved({"", {}}, checkpoint, {"--resume", "auto"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("after step 8"), std::string::npos) << again.err;
  EXPECT_EQ(state_of(folder / "a"), end);
}

TEST(Resume, RefusesWhatCannotBeContinued) {
  const TemporaryFolder folder;
  const std::string from = folder / "a";
  ASSERT_EQ(run_saved({"", {}}, in_folder(from)).exit_code, 0);
  const auto refusal = [&](const std::vector<std::string>& options, const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> all{"--resume", from};
    all.insert(all.end(), options.begin(), options.end());
    const ProcessResult result = run_saved({"", {}}, "", all, arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  };
  EXPECT_NE(refusal({"--seed", "5"}).find("was saved with seed 0, and this job has 5"), std::string::npos);
  EXPECT_NE(refusal({"--dtype", "fp64"}).find("give --dtype fp32"), std::string::npos);
  EXPECT_NE(refusal({}, {"--optimizer", "sgd"}).find(", which this job does not have"), std::string::npos);
  EXPECT_NE(refusal({}, {"--optimizer", "lamb", "--accumulate", "3"}).size(), 0u);
}

/// The sum over an epoch's losses tells which rows were read; parameters stay as they are.
TEST(Resume, ReadsTheSameRowsOnOtherNumbersOfRanks) {
  const TemporaryFolder folder;
  std::string rows = "x,y\n";
  for (int i = 0; i < 101; ++i) rows += std::to_string(1 + i * 0.37) + "," + std::to_string((i * 7919) % 101) + "\n";
  const std::string script = folder.write("job.lua",
                                          "local baleen = require 'baleen'\n"
                                          "local rows = baleen.data.table { path = '" +
                                              folder.write("rows.csv", rows) +
                                              "', label = 'y', task = 'regress', held_out = 0 }\n"
                                              "return baleen.job {\n"
                                              "  model = baleen.nn.linear { name = 'l', out = 1, bias = false },\n"
                                              "  loss = baleen.nn.mse {}, data = rows, batch = 6, steps = 40,\n"
                                              "  optimizer = baleen.optimizer('sgd', { lr = 0 }) }\n");
  const auto losses = [&](int ranks, const std::vector<std::string>& options) {
    const std::string log = folder / "log.jsonl";
    std::filesystem::remove(log);
    std::vector<std::string> words{"run", script, "--dtype", "fp64", "--log-json", log};
    if (ranks > 1) {
      words.push_back("--manifest");
      words.push_back(folder.write("ranks.toml", manifest_of({{"data", ranks}}, "")));
    }
    words.insert(words.end(), options.begin(), options.end());
    const ProcessResult result = run_baleen(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return by_step(read_file(log), "step", "loss");
  };
  const ByStep whole = losses(
      1, {"--set", "checkpoint.folder=" + folder / "a", "--set", "checkpoint.every=7", "--set", "checkpoint.keep=0"});
  ASSERT_EQ(whole.size(), 40u);
  for (const auto& [step, ranks] : std::vector<std::pair<int, int>>{{7, 2}, {21, 3}, {28, 6}}) {
    char name[32];
    std::snprintf(name, sizeof name, "a/step-%09d", step);
    const ByStep rest = losses(ranks, {"--resume", folder / name});
    ASSERT_EQ(rest.size(), 40u - static_cast<std::size_t>(step)) << ranks << " ranks";
    for (const auto& [at, loss] : rest) EXPECT_NEAR(loss, whole.at(at), 1e-9 * whole.at(at)) << "step " << at;
  }
}

TEST(Signal, SavesAndEndsWithItsOwnCode) {
  for (const int ranks : {1, 3})
    for (const int signal : {SIGTERM, SIGINT}) {
      const TemporaryFolder folder;
      const std::string script = source_dir() + "/tests/parity/checkpoint/model.lua";
      std::vector<std::string> words{built("bin/baleen"), "run", script, "--steps", "1000000"};
      if (ranks > 1) {
        words.push_back("--manifest");
        words.push_back(folder.write("ranks.toml", manifest_of({{"data", ranks}}, "")));
      }
      words.insert(words.end(), {"--set", "checkpoint.folder=" + folder / "a", "--set", "checkpoint.every=50", "--",
                                 "--data", source_dir() + "/tests/golden/whales.txt"});
      RunningJob job(words);
      ASSERT_TRUE(holds_within(std::chrono::seconds(30), [&] { return std::filesystem::exists(folder / "a/latest"); }));
      job.kill(signal);
      const auto code = job.ends(std::chrono::seconds(20));
      ASSERT_TRUE(code);
      EXPECT_EQ(*code, 5) << job.err();
      EXPECT_NE(job.err().find(", which is saved; go on with --resume"), std::string::npos) << job.err();
      const nlohmann::json saved = inspected(folder / "a");
      const std::string step = saved["facts"]["step"].get<std::string>();
      EXPECT_NE(job.err().find("ended by a signal after step " + step), std::string::npos) << job.err();
    }
}

}  // namespace
}  // namespace baleen::test
