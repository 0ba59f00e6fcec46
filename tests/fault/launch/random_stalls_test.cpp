/// \file Ranks that stay behind at random moments, for one reason or another: the right one is named, once it is late
/// enough, and who only pauses is not.
#include <csignal>
#include <random>

#include "rank_job.hpp"
#include "support/promise.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// One run, drawn at random.
class Stall {
 public:
  explicit Stall(std::mt19937_64& random)
      : ranks_(2 + static_cast<int>(random() % 3)),
        late_(static_cast<int>(random() % static_cast<std::uint64_t>(ranks_))),
        row_(8 * (3 + static_cast<int>(random() % 30))),
        over_sockets_(has_plugin("transport", "ucx") && random() % 2 == 0),
        pause_(300 + static_cast<int>(random() % 900)) {}

  std::string text() const {
    return std::to_string(ranks_) + " ranks, rank " + std::to_string(late_) + ", row " + std::to_string(row_) +
           (over_sockets_ ? ", over sockets" : ", in shared memory") + ", pause " + std::to_string(pause_) + " ms";
  }
  /// Its rows come eight seconds late: it is named within five, which is two and what a busy machine adds
  /// (stalls_test.cpp has the time of an idle one).
  void late_data() {
    expect_kept(5, [&] {
      RunningJob job(command(8, 60));
      EXPECT_TRUE(job.prints("step 1/")) << job.err();
      const auto since = steady_clock::now();
      const bool is_told = job.complains("waiting for rank", milliseconds(9'000));
      const double took = seconds_since(since);
      EXPECT_EQ(job.ends(), 0) << job.err();
      if (!is_told) return took;  // late beats of a busy machine make the first warning later
      EXPECT_EQ(job.err().find("warning: launcher `local`: waiting for rank " + std::to_string(late_) + " (step "), 0u)
          << job.err();
      EXPECT_NE(job.err().find(", reading data, collective "), std::string::npos) << job.err();
      return took;
    });
  }
  /// It is stopped for a while: nothing is said.
  void short_stop() {
    RunningJob job(command(0, 1'000'000'000));
    ASSERT_TRUE(job.prints("step 1/")) << job.err();
    const pid_t process = find_rank(job, late_);
    ASSERT_GT(process, 0);
    ASSERT_EQ(::kill(process, SIGSTOP), 0);
    std::this_thread::sleep_for(milliseconds(pause_));
    ASSERT_EQ(::kill(process, SIGCONT), 0);
    std::this_thread::sleep_for(milliseconds(500));
    job.kill(SIGTERM);
    EXPECT_EQ(job.ends(), 128 + SIGTERM);
    EXPECT_EQ(job.err(), "");
  }
  /// It is stopped for good: it is named, and all end.
  void long_stop() {
    expect_kept(5, [&] {
      RunningJob job(command(0, 1'000'000'000));
      EXPECT_TRUE(job.prints("step 1/")) << job.err();
      const pid_t process = find_rank(job, late_);
      EXPECT_GT(process, 0);
      const auto since = steady_clock::now();
      EXPECT_EQ(::kill(process, SIGSTOP), 0);
      EXPECT_EQ(job.ends(), 4);
      const double took = seconds_since(since);
      EXPECT_EQ(job.err().find("error: rank " + std::to_string(late_)), 0u) << job.err();
      EXPECT_NE(job.err().find(": stopped by a signal"), std::string::npos) << job.err();
      EXPECT_EQ(lines_of(job.err()).size(), 1u) << job.err();
      return took;
    });
  }

 private:
  std::vector<std::string> command(double seconds, int steps) {
    const std::string script = folder_.write(
        "train.lua",
        "local baleen = require 'baleen'\nlocal nn = baleen.nn\nreturn baleen.job {\n"
        "  model = nn.sequential { nn.linear { out = 2 } }, loss = nn.cross_entropy {}, batch = 24,\n"
        "  data = baleen.data.slow { rank = " +
            std::to_string(late_) + ", row = " + std::to_string(row_) + ", seconds = " + std::to_string(seconds) +
            " },\n  steps = " + std::to_string(steps) + ", optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
    std::vector<std::string> words = baleen_run(script, ranks_);
    words.insert(words.end(), {"--plugin-path", STALLS_FOLDER});
    if (over_sockets_) words.insert(words.end(), {"--set", "transport.plugin=ucx", "--set", "transport.tls=[\"tcp\"]"});
    return words;
  }

  const TemporaryFolder folder_;
  int ranks_, late_, row_;
  bool over_sockets_;
  int pause_;
};

TEST(RandomStalls, AreNamedForWhatTheyAre) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < BALEEN_STALLS && !testing::Test::HasFailure(); ++i) {
    Stall stall(random);
    SCOPED_TRACE(stall.text());
    if (i % 3 == 0) stall.late_data();
    if (i % 3 == 1) stall.short_stop();
    if (i % 3 == 2) stall.long_stop();
  }
}

}  // namespace
}  // namespace baleen::test
