/// \file A training whose numbers become NaN or infinite ends at that step, and takes nothing good with it.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "parity/parity_run.hpp"
#include "small_job.hpp"

namespace baleen::test {
namespace {

/// A regression that leaves all bounds at its third step.
class NotFinite : public testing::Test {
 protected:
  ProcessResult train(const std::string& more, const std::vector<std::string>& words = {}) {
    const std::string script = folder_.write(
        "job.lua", small_job(6, "weight_decay = 1e9, lr = function(step) return step == 2 and 1e9 or 1e3 end", more));
    std::vector<std::string> all{
        "run", script, "--save", folder_ / "model.safetensors", "--log-json", folder_ / "log.jsonl"};
    all.insert(all.end(), words.begin(), words.end());
    return run_baleen(all);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const TemporaryFolder folder_;
};

TEST_F(NotFinite, EndsTheRunWithACodeOfItsOwnAndSavesNothing) {
  folder_.write("model.safetensors", "an older model");
  const ProcessResult result = train("");
  EXPECT_EQ(result.exit_code, 6) << result.out;
  EXPECT_TRUE(result.err.starts_with("error: the loss is not finite at step 4 (the loss of the step before was "))
      << result.err;
  EXPECT_NE(result.err.find("`on_nan = \"continue\"`"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(read("model.safetensors"), "an older model");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 3) << "job.lua, log, model";
  EXPECT_NE(read("log.jsonl").find("\"step\":4"), std::string::npos) << "the step itself is told";
}

TEST_F(NotFinite, EndsAllRanks) {
  const ProcessResult result = train("", {"--set", "mesh.data=2"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("the loss is not finite at step 4"), std::string::npos) << result.err;
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(NotFinite, LeavesTheLastCheckpointAsTheLatest) {
  const ProcessResult result = train("  checkpoint = { folder = '" + (folder_ / "kept") + "', every = 1 },\n");
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_TRUE(result.err.starts_with("error: the update of step 3 has made numbers of `l.")) << result.err;
  const ProcessResult verified = run_baleen({"checkpoint", "verify", folder_ / "kept/step-000000002"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "kept/step-000000003"));
  EXPECT_NE(read("kept/latest").find("step-000000002"), std::string::npos);
}

/// The loss of the last step is finite, what its update makes is not.
TEST_F(NotFinite, SavesNothingThatTheLastUpdateMadeInfinite) {
  const std::string shards = "plan=[{strategy=\"zero\", stage=3}]";
  for (const std::vector<std::string>& setting :
       {std::vector<std::string>{"mesh.data=1"}, {"mesh.data=2"}, {"mesh.data=2", shards}}) {
    folder_.write("model.safetensors", "an older model");
    std::vector<std::string> words{"--steps", "3"};
    for (const std::string& one : setting) words.insert(words.end(), {"--set", one});
    const std::string mesh = testing::PrintToString(setting);
    const ProcessResult result = train("", words);
    EXPECT_EQ(result.exit_code, 6) << mesh << result.out;
    EXPECT_NE(result.err.find("the update of step 3 has made numbers of `l."), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("`on_nan = \"continue\"`"), std::string::npos) << result.err;
    EXPECT_EQ(read("model.safetensors"), "an older model") << mesh;
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 3) << "job.lua, log, model";
    EXPECT_EQ(train("  on_nan = 'continue',\n", words).exit_code, 0) << mesh;
    EXPECT_NE(read("model.safetensors"), "an older model") << mesh;
  }
}

TEST_F(NotFinite, GoesOnByWish) {
  const ProcessResult result = train("  on_nan = 'continue',\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "model.safetensors"));
}

/// A program that learns, in a loop of the user's own.
TEST_F(NotFinite, EndsAProgramThatLearns) {
  for (const bool goes_on : {false, true}) {
    const std::string script = folder_.write(
        "learn.lua",
        "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
        "local model, loss = nn.linear { name = 'l', out = 1 }, nn.mse {}\n"
        "return baleen.job { model = model, steps = 3, " +
            std::string(goes_on ? "on_nan = 'continue', " : "") +
            "programs = { learn = {\n"
            "    inputs = { x = { shape = { 2, 2 }, axes = { 'batch', '' } }, y = { shape = { 2 }, axes = { 'batch' } "
            "} },\n"
            "    run = function(inputs)\n      local total, weight = loss(model(inputs.x), inputs.y)\n"
            "      return { loss = total, weight = weight }\n    end,\n"
            "    optimizer = baleen.optimizer('sgd', { weight_decay = 1e9, lr = function(step) return step == 1 and "
            "1e9 or 1e3 end }) } "
            "},\n"
            "  loop = function(job, run)\n"
            "    for i = 1, 3 do run:run('learn', { x = { { 1, 2 }, { 3, 4 } }, y = { 1, 2 } }) end\n  end }\n");
    const ProcessResult result = run_baleen({"run", script});
    EXPECT_EQ(result.exit_code, goes_on ? 0 : 6) << result.err;
    const bool is_named = result.err.find("the loss is not finite in program `learn`, run 3") != std::string::npos;
    EXPECT_EQ(is_named, !goes_on) << result.err;
    const bool is_explained = result.err.find("`mse (pointwise)` at " + script +
                                              ":3 made 2 of the 2 numbers of `mse` infinite") != std::string::npos;
    EXPECT_EQ(is_explained, !goes_on) << result.err;
  }
}

/// Outside of layers values have no names.
TEST_F(NotFinite, NamesNoValueThatHasNoName) {
  const std::string script =
      folder_.write("learn.lua",
                    "local baleen = require 'baleen'\n"
                    "local model = baleen.nn.linear { name = 'l', out = 1 }\n"
                    "return baleen.job { model = model, steps = 1, programs = { learn = {\n"
                    "    inputs = { x = { shape = { 2, 2 }, axes = { 'batch', '' } } },\n"
                    "    run = function(inputs) return { loss = baleen.ops.log(model(inputs.x) * 0 - 1):sum() } end,\n"
                    "    optimizer = baleen.optimizer('sgd', { lr = 0.1 }) } },\n"
                    "  loop = function(_, run) run:run('learn', { x = { { 1, 2 }, { 3, 4 } } }) end }\n");
  const ProcessResult result = run_baleen({"run", script});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("made 2 of the 2 numbers of its result NaN"), std::string::npos) << result.err;
}

/// Its square is too large for fp32, the loss is not.
TEST_F(NotFinite, EndsWhereTheGradientAloneIs) {
  const std::string script = folder_.write(
      "learn.lua",
      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
      "local model, loss = nn.linear { name = 'l', out = 1 }, nn.mse {}\n"
      "return baleen.job { model = model, steps = 1, programs = { learn = {\n"
      "    inputs = { x = { shape = { 2, 2 }, axes = { 'batch', '' } }, y = { shape = { 2 }, axes = { 'batch' } } },\n"
      "    run = function(inputs)\n      local total, weight = loss(model(inputs.x), inputs.y)\n"
      "      return { loss = total, weight = weight }\n    end,\n"
      "    optimizer = baleen.optimizer('sgd', { lr = 0.1 }) } },\n"
      "  loop = function(job, run)\n"
      "    run:run('learn', { x = { { 1e6, 2e6 }, { 3e6, 4e6 } }, y = { 1e18, 2e18 } })\n  end }\n");
  const ProcessResult result = run_baleen({"run", script, "--save", folder_ / "model.safetensors"});
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_NE(result.err.find("the gradient is not finite, though the loss is, in program `learn`, run 1"),
            std::string::npos)
      << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
}

TEST_F(NotFinite, KnowsTheWordsForIt) {
  const ProcessResult result = train("  on_nan = 'ignore',\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("job: `on_nan`: "), std::string::npos) << result.err;
}

}  // namespace
}  // namespace baleen::test
