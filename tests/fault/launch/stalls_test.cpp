/// \file Ranks that the others wait for are named soon, with what they do, and long before anything ends.
#include "support/promise.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

class Stalls : public testing::Test {
 protected:
  std::vector<std::string> run(const std::string& data, const std::string& more, int steps, int ranks = 2) {
    const std::string script =
        folder.write("train.lua", "local baleen = require 'baleen'\nlocal nn = baleen.nn local data = " + data +
                                      "\nreturn baleen.job {\n"
                                      "  model = nn.sequential { nn.linear { out = 2 } }, loss = nn.cross_entropy {},\n"
                                      "  data = data,\n  batch = 8, steps = " +
                                      std::to_string(steps) +
                                      ",\n  optimizer = baleen.optimizer('sgd', { lr = 0.1 }),\n" + more + "}\n");
    std::vector<std::string> words = baleen_run(script, ranks);
    words.insert(words.end(), {"--plugin-path", STALLS_FOLDER});
    return words;
  }
  static std::string slow_data(int rank, int row, double late) {
    return "baleen.data.slow { rank = " + std::to_string(rank) + ", row = " + std::to_string(row) +
           ", seconds = " + std::to_string(late) + " }";
  }

  const TemporaryFolder folder;
};

/// Two seconds, and what a heartbeat and a busy machine add.
constexpr double kPromise = 3;

TEST_F(Stalls, OfDataAreNamedWithinSeconds) {
  expect_kept(kPromise, [&] {
    RunningJob job(run(slow_data(1, 80, 5), "", 40));
    EXPECT_TRUE(job.prints("step 1/")) << job.err();
    const auto since = steady_clock::now();
    // Beats of a busy machine come late, and make the first warning later than this stall: a try that was not in time.
    const bool is_told = job.complains("waiting for rank 1", seconds(8));
    const double took = seconds_since(since);
    EXPECT_EQ(job.ends(), 0) << job.err();
    if (!is_told) return took;
    EXPECT_EQ(job.err().find("warning: launcher `local`: waiting for rank 1 (step "), 0u) << job.err();
    EXPECT_NE(job.err().find(", reading data, collective "), std::string::npos) << job.err();
    EXPECT_NE(job.err().find(": others have begun collective "), std::string::npos) << job.err();
    return took;
  });
}

TEST_F(Stalls, ThatAreNoneAreNotTold) {
  const ProcessResult result = run_process(run(slow_data(1, 80, 1), "", 40));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST_F(Stalls, OfACallbackAreToldWithItsLine) {
  RunningJob job(
      run(slow_data(0, 0, 0), "  on_step = function(facts)\n    while facts.step == 1 do end\n  end,\n", 40));
  ASSERT_TRUE(job.prints("step 1/")) << job.err();
  std::this_thread::sleep_for(seconds(1));
  const pid_t rank = find_rank(job, 1);
  ASSERT_GT(rank, 0);
  ASSERT_EQ(::kill(rank, SIGKILL), 0);
  EXPECT_EQ(job.ends(), 4);
  EXPECT_NE(job.err().find("error: rank 1, step 1, in on_step ("), std::string::npos) << job.err();
  EXPECT_NE(job.err().find("train.lua:8)"), std::string::npos) << job.err();
}

/// Nobody waits for the only rank.
TEST_F(Stalls, OfACallbackAreToldOfOneRank) {
  RunningJob job(
      run(slow_data(0, 0, 0), "  on_step = function(facts)\n    while facts.step == 1 do end\n  end,\n", 40, 1));
  EXPECT_TRUE(job.complains("train.lua:8) has run for 4.", seconds(20))) << job.err();
  EXPECT_EQ(job.err().find("warning: on_step ("), 0u) << job.err();
  EXPECT_NE(job.err().find("train.lua:8) has run for 2."), std::string::npos) << job.err();
}

/// The script's own time rests while a plugin works for it; the plugin's is told.
TEST_F(Stalls, OfAPluginInACallbackAreToldOfOneRank) {
  RunningJob job(run(slow_data(-1, 0, 0),
                     "  on_step = function(facts)\n    if facts.step == 1 then data:encode('sleep') end\n  end,\n", 40,
                     1));
  EXPECT_TRUE(job.complains("train.lua:9) has run for 4.", seconds(20))) << job.err();
  EXPECT_EQ(job.err().find("warning: data `slow`, encode ("), 0u) << job.err();
  EXPECT_NE(job.err().find("train.lua:9) has run for 2."), std::string::npos) << job.err();
}

}  // namespace
}  // namespace baleen::test
