/// \file What is trained is saved beside, whoever is lost, however long the disk takes.
#include <csignal>
#include <filesystem>
#include <regex>

#include "rank_job.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

constexpr const char* kSaved = "warning: the parameters after step ";

class RescuedTraining : public testing::Test {
 protected:
  /// On three ranks, which all have all parameters; the first write to a file takes so many seconds.
  std::vector<std::string> command(int steps, int seconds, const std::vector<std::string>& more) const {
    std::vector<std::string> words{"/usr/bin/env", std::string("LD_PRELOAD=") + SLOW_WRITES,
                                   "SLOW_WRITES=" + std::to_string(seconds)};
    const std::vector<std::string> own = baleen_run(script_of_a_layer(folder_, steps, more_), 3);
    words.insert(words.end(), own.begin(), own.end());
    words.insert(words.end(), device_.begin(), device_.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::string model() const { return folder_ / "model.safetensors"; }
  /// The file that is told of in the only warning, which a run can begin with.
  void expect_saved(const RunningJob& job) const {
    const std::string said = "are saved in ", ending = ".safetensors";
    ASSERT_NE(job.err().find(kSaved), std::string::npos) << job.err();
    const std::size_t at = job.err().find(said), end = job.err().find(ending, at);
    ASSERT_NE(end, std::string::npos) << job.err();
    const std::string file = job.err().substr(at + said.size(), end + ending.size() - at - said.size());
    EXPECT_EQ(file.find(folder_ / "model.after-step-"), 0u) << file;
    EXPECT_FALSE(std::filesystem::exists(model()));
    const int steps = std::stoi(job.err().substr(job.err().find(kSaved) + std::string(kSaved).size()));
    RunningJob undisturbed(command(steps, 0, {"--save", folder_ / "undisturbed.safetensors"}));
    EXPECT_EQ(undisturbed.ends(), 0) << undisturbed.err();
    EXPECT_EQ(read_file(file), read_file(folder_ / "undisturbed.safetensors")) << "after step " << steps;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      EXPECT_EQ(entry.path().string().find("partial"), std::string::npos) << entry.path();
  }
  const TemporaryFolder folder_;
  std::vector<std::string> device_;
  std::string more_;  ///< of the job
};

/// Longer than ranks get to leave in.
TEST_F(RescuedTraining, IsSavedWhereARankIsLost) {
  RunningJob job(command(1'000'000'000, 4, {"--save", model()}));
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  const pid_t victim = find_rank(job, 2);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_EQ(job.ends(), 4) << job.err();
  const std::regex lost("(^|\n)error: rank 2(, step [^:\n]+)?: killed by SIGKILL");  // where a beat told one
  EXPECT_TRUE(std::regex_search(job.err(), lost)) << job.err();
  expect_saved(job);
}

/// As in a long step: the rank that saves notices the loss later than ranks get to leave in.
TEST_F(RescuedTraining, IsSavedByARankThatIsBusyForLong) {
  const std::string kept = folder_ / "kept.safetensors";
  more_ = ", on_step = function(facts, run) if facts.step == 5 then run:save('" + kept + "') end end";
  RunningJob job(command(1'000'000'000, 4, {"--save", model()}));
  const auto saves = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      if (entry.path().string().starts_with(kept)) return true;
    return false;
  };
  ASSERT_TRUE(holds_within(std::chrono::minutes(1), saves)) << job.err();
  const pid_t victim = find_rank(job, 2);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_EQ(job.ends(), 4) << job.err();
  EXPECT_NE(job.err().find(kSaved + std::string("5 ")), std::string::npos) << job.err();
  expect_saved(job);
}

/// Whose sums pass through the host's memory.
TEST_F(RescuedTraining, IsSavedWhereARankOfAnotherDeviceIsLost) {
  if (!has_plugin("compute", "cuda")) GTEST_SKIP() << "no compute plugin `cuda` in this tree";
  device_ = {"--set", R"(compute={ plugin="cuda", libraries=[")" + emulated_folder() + R"("], cache=")" +
                          emulated_folder() + R"(/cache" })"};
  for (int times = 0; times < 3; ++times) {
    RunningJob job(command(1'000'000'000, 0, {"--save", model()}));
    ASSERT_TRUE(job.prints("step 1/", 1, std::chrono::minutes(1))) << job.err();
    const pid_t victim = find_rank(job, 2);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(::kill(victim, SIGKILL), 0);
    EXPECT_EQ(job.ends(), 4) << job.err();
    if (job.err().find(kSaved) != std::string::npos) expect_saved(job);  // else it was lost within an update
  }
}

/// The others wait for it.
TEST_F(RescuedTraining, IsSavedBehindASignal) {
  RunningJob job(command(1'000'000'000, 4, {"--save", model()}));
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  job.kill(SIGINT);
  EXPECT_EQ(job.ends(), 5) << job.err();
  EXPECT_EQ(job.err().find("left too early"), std::string::npos) << job.err();
  expect_saved(job);
}

/// Nothing is saved of what no rank has as a whole, and nobody waits.
TEST_F(RescuedTraining, IsNotSavedWhereItsPartsAreLost) {
  RunningJob job(command(1'000'000'000, 0,
                         {"--save", model(), "--set", R"(plan=[{strategy="zero", stage=3, replicate_below=1}])"}));
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  const pid_t victim = find_rank(job, 2);
  ASSERT_GT(victim, 0);
  ASSERT_EQ(::kill(victim, SIGKILL), 0);
  EXPECT_EQ(job.ends(), 4) << job.err();
  EXPECT_EQ(job.err().find(kSaved), std::string::npos) << job.err();
}

}  // namespace
}  // namespace baleen::test
