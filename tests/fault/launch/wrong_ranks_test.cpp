/// \file A rank that computes wrong: its memory keeps what it wrote, and only the other ranks can tell.
#include <filesystem>

#include "rank_job.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

class WrongRank : public testing::TestWithParam<int> {
 protected:
  /// Three ranks; from its 20th collective on one of them gets sums that are a little too small.
  std::vector<std::string> command(int every, int steps) const {
    return command(
        script_of_a_layer(folder_, steps, ", check = { every = " + std::to_string(every) + ", memory = true }"));
  }
  /// The same of a program that learns, in a job without steps.
  std::vector<std::string> command_of_programs(int every, int runs) const {
    return command(
        folder_.write("programs.lua",
                      "local baleen = require 'baleen'\n"
                      "local layer, x = baleen.nn.linear { name = 'l', out = 2 }, {}\n"
                      "for i = 1, 12 do x[i] = { i / 12, i % 3 } end\n"
                      "return baleen.job { check = { every = " +
                          std::to_string(every) +
                          " }, programs = { learn = {\n"
                          "  inputs = { x = { shape = { 12, 2 }, axes = { 'batch', '' } } },\n"
                          "  run = function(given) local y = layer(given.x); return { loss = (y * y):sum() } end,\n"
                          "  optimizer = baleen.optimizer('sgd', { lr = 0.001 }) } },\n"
                          "  loop = function(job, run) for _ = 1, " +
                          std::to_string(runs) + " do run:run('learn', { x = x }) end end }\n"));
  }
  std::vector<std::string> command(const std::string& script) const {
    std::vector<std::string> words = baleen_run(script, 3);
    words.insert(words.end(), {"--plugin-path", STALLS_FOLDER, "--save", folder_ / "model.safetensors"});
    for (const std::string& each : {std::string("plugin=crooked"), std::string("over=\"shm\""),
                                    "rank=" + std::to_string(GetParam()), std::string("wrong=20")})
      words.insert(words.end(), {"--set", "transport." + each});
    return words;
  }
  std::size_t saved() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      count += entry.path().extension() == ".safetensors";
    return count;
  }
  const TemporaryFolder folder_;
};

TEST_P(WrongRank, IsFoundAtTheNextComparison) {
  RunningJob job(command(10, 1'000'000'000));
  EXPECT_EQ(job.ends(), 6) << job.err();
  const std::string said = " are no longer the same after step ";
  EXPECT_NE(job.err().find(": copies of `l."), std::string::npos) << job.err();
  const std::size_t at = job.err().find(said);
  ASSERT_NE(at, std::string::npos) << job.err();
  const int step = std::stoi(job.err().substr(at + said.size()));
  EXPECT_TRUE(step == 10 || step == 20) << "collective 20 is of one of the first 20 steps: " << job.err();
  const std::string who = "rank " + std::to_string(GetParam()) + " differs from rank " +
                          std::to_string(GetParam() == 0 ? 1 : 0) +
                          " and 1 other of 3; the first difference is in bytes 0 to ";
  EXPECT_NE(job.err().find(who), std::string::npos) << job.err();
  EXPECT_EQ(lines_of(job.err()).size(), 1u) << job.err();
  EXPECT_EQ(saved(), 0u) << "what is wrong is saved";
}

/// It is this comparison that finds it: each rank's memory has what that rank wrote.
TEST_P(WrongRank, IsNotFoundByItself) {
  RunningJob job(command(0, 60));
  EXPECT_EQ(job.ends(), 0) << job.err();
  EXPECT_EQ(job.err(), "");
}

/// Runs of a program count as steps do.
TEST_P(WrongRank, IsFoundAmongRunsOfAProgram) {
  RunningJob job(command_of_programs(10, 1'000'000'000));
  EXPECT_EQ(job.ends(), 6) << job.err();
  EXPECT_NE(job.err().find(": copies of `l."), std::string::npos) << job.err();
  const std::string said = " are no longer the same after run ";
  const std::size_t at = job.err().find(said);
  ASSERT_NE(at, std::string::npos) << job.err();
  const int run = std::stoi(job.err().substr(at + said.size()));
  EXPECT_TRUE(run == 10 || run == 20) << "collective 20 is of one of the first 20 runs: " << job.err();
}

TEST_P(WrongRank, IsFoundBeforeRunsOfAProgramAreSaved) {
  RunningJob job(command_of_programs(1000, 60));
  EXPECT_EQ(job.ends(), 6) << job.err();
  EXPECT_NE(job.err().find(" are no longer the same after run 60: "), std::string::npos) << job.err();
  EXPECT_EQ(saved(), 0u) << "what is wrong is saved";
}

/// A checkpoint takes each piece from one rank, and the others would be gone.
TEST_P(WrongRank, IsFoundBeforeACheckpointIsSaved) {
  std::vector<std::string> words = command(1000, 100);
  words.insert(words.end(),
               {"--set", "checkpoint.every=30", "--set", "checkpoint.folder=\"" + (folder_ / "saves") + "\""});
  RunningJob job(words);
  EXPECT_EQ(job.ends(), 6) << job.err();
  EXPECT_NE(job.err().find(" are no longer the same after step 30: "), std::string::npos) << job.err();
  EXPECT_FALSE(std::filesystem::exists(folder_ / "saves/step-000000030"));
}
INSTANTIATE_TEST_SUITE_P(Number, WrongRank, testing::Values(0, 2));

}  // namespace
}  // namespace baleen::test
