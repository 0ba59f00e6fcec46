/// \file Which checkpoints a run saves and keeps: by the clock, the best, and what it says of a changed job.
#include <csignal>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "support/run_log.hpp"
#include "support/running_job.hpp"

namespace baleen::test {
namespace {

std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none_yet;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none_yet))
    if (entry.path().filename().string().starts_with("step-")) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string name_of(std::int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%09lld", static_cast<long long>(step));
  return name;
}

class OnRanks : public testing::TestWithParam<int> {
 protected:
  SplitWork split() const { return {"", GetParam() > 1 ? MeshAxes{{"data", GetParam()}} : MeshAxes{}}; }
};

TEST_P(OnRanks, MinutesAreThoseOfTheClock) {
  const TemporaryFolder folder;
  const std::string manifest = folder.write(
      "ranks.toml", "[checkpoint]\n" + in_folder(folder / "a") + "minutes = 0.01\nkeep = 0\n" + split().manifest());
  RunningJob job({built("bin/baleen"), "run", source_dir() + "/tests/parity/checkpoint/model.lua", "--manifest",
                  manifest, "--steps", "1000000", "--", "--data", source_dir() + "/tests/golden/whales.txt"});
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(holds_within(std::chrono::seconds(40), [&] { return checkpoints_in(folder / "a").size() >= 4; }));
  // 0.6 s and a step lie between two at least.
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(3 * 600));
  job.kill(SIGTERM);
  EXPECT_EQ(job.ends(std::chrono::seconds(20)), 5) << job.err();
}

/// The loss on held-out rows falls and then rises.
TEST_P(OnRanks, TheBestStays) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl", kept = folder / "a";
  const std::string checkpoint = in_folder(kept) + "every = 1\nkeep = 1\nbest = true\n";
  const ProcessResult first =
      run_saved(split(), checkpoint, {"--log-json", log}, {"--peak", "0.03", "--evaluate", "1"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const ByStep losses = by_step(read_file(log), "evaluate", "held_out_loss");
  ASSERT_EQ(losses.size(), 12u);
  const auto [step, loss] = *std::ranges::min_element(losses, {}, [](const auto& one) { return one.second; });
  ASSERT_LT(step, 12) << "the last one is the best, which shows nothing";
  EXPECT_EQ(checkpoints_in(kept), (std::vector<std::string>{name_of(step), name_of(12)}));
  const auto best = nlohmann::json::parse(read_file(kept + "/best"));
  EXPECT_EQ(best["name"], name_of(step));
  EXPECT_EQ(best["held_out_loss"].get<double>(), loss);

  // Another process goes on from it, and remembers what was the best before.
  const ProcessResult second = run_saved(split(), checkpoint, {"--resume", "best", "--log-json", log, "--steps", "14"},
                                         {"--peak", "5", "--evaluate", "1"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.err.find("after step " + std::to_string(step)), std::string::npos) << second.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(kept + "/best")), best);
  // What the first one made behind it stays, though the second makes that step too.
  EXPECT_EQ(checkpoints_in(kept), (std::vector<std::string>{name_of(step), name_of(12) + ".earlier-1", name_of(14)}));
  EXPECT_EQ(run_baleen({"checkpoint", "verify", kept + "/" + name_of(step)}).exit_code, 0);
}
INSTANTIATE_TEST_SUITE_P(Kept, OnRanks, testing::Values(1, 2));

TEST(Kept, NothingIsTheBestWhereNobodyAsked) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_saved({"", {}}, in_folder(folder / "a")).exit_code, 0);
  const ProcessResult none = run_saved({"", {}}, in_folder(folder / "a"), {"--resume", "best"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("has no best checkpoint; they are named where `checkpoint` has `best = true`"),
            std::string::npos)
      << none.err;
}

TEST(Kept, WhatHasChangedIsSaid) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_saved({"", {}}, in_folder(folder / "a")).exit_code, 0);
  const ProcessResult again = run_saved({"", {{"data", 2}}, strategy("data")}, "",
                                        {"--resume", folder / "a", "--steps", "14"}, {"--peak", "0.003"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  for (const std::string said :
       {"optimizer has changed since the checkpoint was saved: adamw(lr = 0.00333",
        "plan has changed since the checkpoint was saved: none -> data",
        "steps has changed since the checkpoint was saved: 12 -> 14", "the manifest has changed since"})
    EXPECT_NE(again.err.find(said), std::string::npos) << said << " in " << again.err;
  EXPECT_EQ(again.err.find("seed has changed"), std::string::npos) << again.err;
  EXPECT_EQ(again.err.find("the data's content"), std::string::npos) << again.err;
}

/// Of as many rows, so that nothing else tells it.
TEST(Kept, OtherTextOfTheSameLengthIsSaid) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_saved({"", {}}, in_folder(folder / "a")).exit_code, 0);
  std::string text = read_file(source_dir() + "/tests/golden/whales.txt");
  const std::size_t at = text.find('e', text.size() / 3);
  text[at] = 'a';
  const std::string other = folder.write("other.txt", text);
  const ProcessResult again =
      run_saved({"", {}}, in_folder(folder / "a"), {"--resume", "auto", "--steps", "14"}, {"--data", other});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.err.find("the data's content has changed since the checkpoint was saved"), std::string::npos)
      << again.err;
}

}  // namespace
}  // namespace baleen::test
