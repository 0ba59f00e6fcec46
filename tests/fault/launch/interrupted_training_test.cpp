/// \file A signal ends a training that saves at its end alone: behind a step, and what is trained is saved beside.
#include <csignal>
#include <filesystem>

#include "rank_job.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

class InterruptedTraining : public testing::TestWithParam<int> {
 protected:
  static std::vector<std::string> running(const std::string& script, const std::vector<std::string>& more) {
    std::vector<std::string> words = baleen_run(script, GetParam());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> command(int steps, const std::vector<std::string>& more) const {
    return running(script_of_a_layer(folder_, steps), more);
  }
  /// A job whose own loop runs a program that learns for ever; it prints when it has done so three times.
  std::vector<std::string> learning(const std::string& keys, const std::vector<std::string>& more) const {
    const std::string script =
        folder_.write("learn.lua",
                      "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
                      "local model, loss = nn.linear { name = 'l', out = 1 }, nn.mse {}\n"
                      "return baleen.job { model = model, steps = 1, programs = { learn = {\n"
                      "    inputs = { x = { shape = { 6, 2 }, axes = { 'batch', '' } }, y = { shape = { 6 }, axes = { "
                      "'batch' } } },\n"
                      "    run = function(inputs)\n      local total, weight = loss(model(inputs.x), inputs.y)\n"
                      "      return { loss = total, weight = weight }\n    end,\n"
                      "    optimizer = baleen.optimizer('sgd', { lr = 0.01 }) } },\n" +
                          keys +
                          "  loop = function(job, run)\n    local x = { { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 }, { 1, 2 "
                          "}, { 3, 4 } }\n"
                          "    for i = 1, 1000000000 do\n      run:run('learn', { x = x, y = { 1, 2, 1, 2, 1, 2 } })\n"
                          "      if i == 3 then print('there') end\n    end\n  end }\n");
    return running(script, more);
  }
  const TemporaryFolder folder_;
};

TEST_P(InterruptedTraining, SavesBesideAndEndsWithItsCode) {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningJob job(command(1'000'000'000, {"--save", folder_ / "model.safetensors"}));
    ASSERT_TRUE(job.prints("step 1/")) << job.err();
    job.kill(signal);
    EXPECT_EQ(job.ends(), 5) << job.err();
    const std::string saved = "warning: the parameters after step ";
    EXPECT_EQ(lines_of(job.err()).size(), 2u) << job.err();
    EXPECT_NE(job.err().find("ended by a signal after step "), std::string::npos) << job.err();
    ASSERT_EQ(job.err().find(saved), 0u) << job.err();
    const std::string step = std::to_string(std::stoll(job.err().substr(saved.size())));
    EXPECT_NE(step, "0");
    const std::string file = folder_ / ("model.after-step-" + step + ".safetensors");
    EXPECT_NE(job.err().find(file), std::string::npos) << job.err();
    EXPECT_FALSE(std::filesystem::exists(folder_ / "model.safetensors"));
    RunningJob goes_on(command(1, {"--load", file}));
    EXPECT_EQ(goes_on.ends(), 0) << goes_on.err();
  }
}

/// Ranks that have parts of parameters bring them together for each place that is tried.
TEST_P(InterruptedTraining, SavesElsewhereWhereTheFolderIsGone) {
  std::filesystem::create_directory(folder_ / "gone");
  std::filesystem::create_directory(folder_ / "here");
  std::string line = "cd '" + (folder_ / "here") + "' && exec";
  for (const std::string& word : command(1'000'000'000, {"--save", folder_ / "gone/model.safetensors", "--set",
                                                         R"(plan=[{strategy="zero", stage=3, replicate_below=1}])"}))
    line += " '" + word + "'";
  RunningJob job({"/bin/sh", "-c", line});
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  std::filesystem::remove(folder_ / "gone");
  job.kill(SIGINT);
  EXPECT_EQ(job.ends(), 5) << job.err();
  const std::string said = "are saved in ", ending = ".safetensors";
  const std::size_t at = job.err().find(said), end = job.err().find(ending, at);
  ASSERT_NE(end, std::string::npos) << job.err();
  const std::string file = job.err().substr(at + said.size(), end + ending.size() - at - said.size());
  EXPECT_EQ(file.find(folder_ / "here/model.after-step-"), 0u) << file;
  RunningJob goes_on(command(1, {"--load", file}));
  EXPECT_EQ(goes_on.ends(), 0) << goes_on.err();
}

/// A loop of the user's own, which runs a program that learns.
TEST_P(InterruptedTraining, OfAProgramThatLearnsSavesToo) {
  RunningJob job(learning({}, {"--save", folder_ / "model.safetensors"}));
  ASSERT_TRUE(job.prints("there\n")) << job.err();
  job.kill(SIGINT);
  EXPECT_EQ(job.ends(), 5) << job.err();
  EXPECT_EQ(job.err().find("warning: the parameters after step "), 0u) << job.err();
  EXPECT_NE(job.err().find("ended by a signal after step "), std::string::npos) << job.err();
}

/// The same with checkpoints: they are saved when they are due, and behind the signal.
TEST_P(InterruptedTraining, OfAProgramThatLearnsSavesACheckpoint) {
  const std::string folder = folder_ / "c";
  const std::string keeps = "  checkpoint = { folder = '" + folder + "', every = 2, keep = 1000 },\n";
  const auto is_saved = [&](std::int64_t step) {
    const std::string digits = std::to_string(step);
    return std::filesystem::exists(folder + "/step-" + std::string(9 - digits.size(), '0') + digits);
  };
  RunningJob job(learning(keeps, {}));
  ASSERT_TRUE(job.prints("there\n")) << job.err();
  EXPECT_TRUE(holds_within(std::chrono::seconds(30), [&] { return is_saved(2); }));
  job.kill(SIGINT);
  EXPECT_EQ(job.ends(), 5) << job.err();
  const std::string said = "ended by a signal after step ";
  const std::size_t at = job.err().find(said);
  ASSERT_NE(at, std::string::npos) << job.err();
  EXPECT_TRUE(is_saved(std::stoll(job.err().substr(at + said.size())))) << job.err();
  RunningJob goes_on(learning(keeps, {"--resume", "latest"}));
  EXPECT_TRUE(goes_on.prints("there\n")) << goes_on.err();
  goes_on.kill(SIGINT);
  EXPECT_EQ(goes_on.ends(), 5) << goes_on.err();
}

/// A callback that runs a program for ever: the run waits for its end, and then does not lose what was trained.
TEST_P(InterruptedTraining, InTheMidstOfACallbackSavesACheckpointThatSaysSo) {
  const std::string script =
      folder_.write("beside.lua",
                    "local baleen = require 'baleen'\nlocal nn = baleen.nn\n"
                    "local model, loss = nn.linear { name = 'l', out = 1 }, nn.mse {}\n"
                    "return baleen.job { model = model, loss = loss, batch = 6, steps = 9,\n"
                    "  data = baleen.data.synthetic { features = 2, rows = 12, held_out = 0 },\n"
                    "  optimizer = baleen.optimizer('sgd', { lr = 0.01 }), programs = { learn = {\n"
                    "    inputs = { x = { shape = { 6, 2 }, axes = { 'batch', '' } } },\n"
                    "    run = function(inputs)\n      local y = model(inputs.x)\n"
                    "      return { loss = baleen.ops.sum(y * y), weight = baleen.ops.constant(6) }\n    end,\n"
                    "    optimizer = baleen.optimizer('sgd', { lr = 0.01 }) } },\n"
                    "  on_step = function(facts, run)\n"
                    "    for i = 1, facts.step < 3 and 2 or 1000000000 do\n"
                    "      run:run('learn', { x = { { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 }, { 1, 2 }, { 3, 4 } } })\n"
                    "      if i == 3 then print('there') end\n    end\n  end }\n");
  const std::vector<std::string> saves{"--set", "checkpoint.folder=" + folder_ / "c", "--set", "checkpoint.grace=8"};
  RunningJob job(running(script, saves));
  ASSERT_TRUE(job.prints("there\n")) << job.err();
  job.kill(SIGINT);
  EXPECT_EQ(job.ends(std::chrono::seconds(20)), 5) << job.err();
  EXPECT_NE(
      job.err().find("ended by a signal after step 3 and in the midst of what the script does behind it, which is "
                     "saved as it stands; --resume goes on with the step after it"),
      std::string::npos)
      << job.err();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "c/step-000000003"));
}

/// `checkpoint.grace`: what saves for longer, as on a disk that hangs, is ended by the signal all the same.
TEST_P(InterruptedTraining, EndsWithoutASaveThatTakesTooLong) {
  std::vector<std::string> words = {"/usr/bin/env", std::string("LD_PRELOAD=") + SLOW_WRITES, "SLOW_WRITES=40",
                                    "SLOW_WRITES_AFTER=" + (folder_ / "now")};
  const std::string keeps = ", checkpoint = { folder = '" + (folder_ / "c") + "', every = 1000000000, grace = 1 }";
  for (const std::string& word : running(script_of_a_layer(folder_, 1'000'000'000, keeps), {})) words.push_back(word);
  RunningJob job(words);
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  folder_.write("now", "");
  job.kill(SIGTERM);
  EXPECT_EQ(job.ends(std::chrono::seconds(30)), 128 + SIGTERM) << job.err();
  EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return job.processes().empty(); })) << "an orphan is left";
}

TEST_P(InterruptedTraining, EndsAtOnceWhereNothingIsSaved) {
  RunningJob job(command(1'000'000'000, {}));
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  job.kill(SIGTERM);
  EXPECT_EQ(job.ends(), 128 + SIGTERM) << job.err();
}
INSTANTIATE_TEST_SUITE_P(Ranks, InterruptedTraining, testing::Values(1, 3));

}  // namespace
}  // namespace baleen::test
