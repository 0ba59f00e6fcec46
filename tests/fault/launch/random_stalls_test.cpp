/// \file Ranks that stay behind or do otherwise at random moments, for one reason or another: the right one is named,
/// once it is late enough, and who only pauses is not.
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
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

constexpr int kForEver = 1'000'000'000;
/// Two seconds, and what a heartbeat and a busy machine add.
constexpr double kPromise = 3;

/// One run, drawn at random.
class Stall {
 public:
  explicit Stall(std::mt19937_64& random)
      : ranks_(2 + draw(random, 3)),
        late_(draw(random, ranks_)),
        step_(3 + draw(random, 30)),
        layers_(1 + draw(random, 3)),
        over_sockets_(has_plugin("transport", "ucx") && random() % 2 == 0),
        pause_(300 + draw(random, 900)),
        odd_(draw(random, 1'000)) {}

  std::string text() const {
    return std::to_string(ranks_) + " ranks, rank " + std::to_string(late_) + ", step " + std::to_string(step_) + ", " +
           std::to_string(layers_) + (over_sockets_ ? " layers, over sockets" : " layers, in shared memory") +
           ", pause " + std::to_string(pause_) + " ms, odd " + std::to_string(odd_);
  }
  /// Its rows come late.
  void late_data() {
    expect_kept(kPromise, [&] {
      std::filesystem::remove(mark());
      RunningJob job(command(60, {}, "seconds = 6"));
      const double took = expect_waited_for(job, {", reading data, collective "});
      EXPECT_EQ(job.ends(), 0) << job.err();
      return took;
    });
  }
  /// It is stopped for a while: nothing is said.
  void short_stop() {
    RunningJob job(command(kForEver));
    stop(job);
    std::this_thread::sleep_for(milliseconds(pause_));
    ASSERT_EQ(::kill(find_rank(job, late_), SIGCONT), 0);
    std::this_thread::sleep_for(milliseconds(500));
    expect_told_to_end(job);
    EXPECT_EQ(job.err(), "");
  }
  /// It is stopped for good: it is named, and all end.
  void long_stop() {
    expect_kept(kPromise, [&] {
      RunningJob job(command(kForEver));
      const auto since = stop(job);
      EXPECT_EQ(job.ends(), 4);
      const double took = seconds_since(since);
      EXPECT_EQ(job.err().find("error: rank " + std::to_string(late_)), 0u) << job.err();
      expect_line(job, {": stopped by a signal"});
      return took;
    });
  }
  void looping_callback() { callback("loop"); }
  void sleeping_callback() { callback("sleep"); }
  /// It starts another collective than the others.
  void another_order() { otherwise("start=" + std::to_string(1 + odd_ % 200), " starts all_reduce of "); }
  /// It prepares a collective of one element more.
  void another_shape() {
    otherwise("prepare=" + std::to_string(1 + odd_ % (1 + 2 * layers_)), " prepares all_reduce of ");
  }
  /// From some collective on it starts none that it was asked to start, so none of the ranks ever comes out of it.
  void lost_collective() {
    expect_kept(kPromise, [&] {
      std::filesystem::remove(mark());
      RunningJob job(crooked("lose=" + std::to_string(1 + odd_ % 200)));
      const auto since = marked(job);
      const bool is_told = job.complains("every rank stands in", milliseconds(9'000));
      const double took = seconds_since(since);
      if (is_told)
        expect_line(job, {"that does not end: in all_reduce of ", "train.lua:5 (", ", training, collective "});
      expect_told_to_end(job);
      return took;
    });
  }
  /// The log finds no room from the beginning, or from a moment on.
  void full_disk_of_log() {
    const bool at_once = odd_ % 2 == 0;
    expect_kept(kPromise, [&] {
      const std::string log = at_once ? "/dev/full" : folder_ / "log.jsonl";
      std::vector<std::string> words = command(kForEver);
      words.insert(words.end(), {"--log-json", log});
      RunningJob job(words);
      EXPECT_TRUE(job.prints("step 1/")) << job.err();
      if (!at_once) std::this_thread::sleep_for(milliseconds(pause_));
      const auto since = steady_clock::now();
      if (!at_once) limit_files(find_rank(job, 0));
      job.complains("\n");
      const double took = seconds_since(since);
      expect_line(job, {"warning: monitor `jsonl` failed and is told nothing more: ",
                        log + ": cannot write: " + (at_once ? "No space left on device" : "File too large")});
      return took;
    });
  }
  /// The late rank's part of a checkpoint does not, in the only save of the run. Rows come late before it, so that
  /// there is time to fill the disk.
  void full_disk_of_checkpoint() {
    expect_kept(kPromise, [&] {
      RunningJob job(
          command(kForEver,
                  "  checkpoint = { folder = \"" + folder_.path() +
                      "/c\" },\n  on_step = function(facts, run)\n    if facts.step == 40 then print 'saves' "
                      "run:checkpoint() end\n  end,\n",
                  "seconds = 1"));
      EXPECT_TRUE(job.prints("step 1/")) << job.err();
      limit_files(find_rank(job, late_));
      EXPECT_TRUE(job.prints("saves")) << job.err();
      const auto since = steady_clock::now();
      if (job.complains("\n", milliseconds(9'000)))
        expect_line(job, {"warning: the checkpoint of step 40 was not saved (rank " + std::to_string(late_) + ": ",
                          ": File too large); the one before it stays"});
      return seconds_since(since);
    });
  }

 private:
  static int draw(std::mt19937_64& random, int count) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(count));
  }
  std::vector<std::string> command(int steps, const std::string& more = {}, const std::string& late = "seconds = 0") {
    std::string layers;
    for (int i = 1; i < layers_; ++i) layers += "nn.linear { out = 2 }, ";
    const std::string script = folder_.write(
        "train.lua", "local baleen = require 'baleen'\nlocal nn = baleen.nn\nlocal data = baleen.data.slow { rank = " +
                         std::to_string(late_) + ", row = " + std::to_string(8 * step_) + ", mark = '" + mark() +
                         "', " + late + " }\nreturn baleen.job {\n  model = nn.sequential { " + layers +
                         "nn.linear { out = 2 } }, loss = nn.cross_entropy {}, batch = 24, data = data,\n" + more +
                         "  steps = " + std::to_string(steps) +
                         ", optimizer = baleen.optimizer('sgd', { lr = 0.1 }) }\n");
    std::vector<std::string> words = baleen_run(script, ranks_);
    words.insert(words.end(), {"--plugin-path", STALLS_FOLDER});
    if (over_sockets_) words.insert(words.end(), {"--set", "transport.plugin=ucx", "--set", "transport.tls=[\"tcp\"]"});
    return words;
  }
  steady_clock::time_point stop(RunningJob& job) {
    EXPECT_TRUE(job.prints("step 1/")) << job.err();
    const pid_t process = find_rank(job, late_);
    EXPECT_GT(process, 0);
    const auto since = steady_clock::now();
    EXPECT_EQ(::kill(process, SIGSTOP), 0);
    return since;
  }
  static void expect_told_to_end(RunningJob& job) {
    job.kill(SIGTERM);
    EXPECT_EQ(job.ends(), 128 + SIGTERM) << job.err();
  }
  /// The first line that it has written holds these.
  static void expect_line(const RunningJob& job, const std::vector<std::string>& parts) {
    const Lines lines = lines_of(job.err());
    for (const std::string& part : parts)
      EXPECT_NE(lines.empty() ? std::string::npos : lines[0].find(part), std::string::npos) << part << "\n"
                                                                                            << job.err();
  }
  std::string mark() const { return folder_ / "late"; }
  steady_clock::time_point marked(const RunningJob& job) const {
    EXPECT_TRUE(holds_within(std::chrono::seconds(30), [&] { return std::filesystem::exists(mark()); })) << job.err();
    return steady_clock::now();
  }
  /// The late rank and no other is waited for, with this place. Returns the seconds from when it began to be late.
  double expect_waited_for(RunningJob& job, const std::vector<std::string>& parts) {
    const auto since = marked(job);
    const bool is_told = job.complains("waiting for rank", milliseconds(9'000));
    const double took = seconds_since(since);
    if (!is_told) return took;  // late beats of a busy machine make the first warning later
    // Rank 0 tells of a plugin's call itself, too, at about the same time.
    const std::string begin = "warning: launcher `local`: waiting for rank ";
    for (const std::string& line : lines_of(job.err())) {
      if (!line.starts_with(begin)) continue;
      EXPECT_TRUE(line.starts_with(begin + std::to_string(late_) + " (step ")) << line;
      for (const std::string& part : parts) EXPECT_NE(line.find(part), std::string::npos) << part << "\n" << line;
    }
    return took;
  }
  /// It loops or sleeps in a callback. A script cannot sleep; what it calls of a plugin can.
  void callback(const std::string& how) {
    const std::string step = std::to_string(step_);
    expect_kept(kPromise, [&] {
      std::filesystem::remove(mark());
      RunningJob job(command(kForEver, "  on_step = function(facts)\n    if facts.step ~= " + step +
                                           " then return end\n    while data:encode('" + how +
                                           "')[1] == 1 do end\n  end,\n"));
      return expect_waited_for(job, {"(step " + step + ", in on_step (", "train.lua:6), collective "});
    });
  }
  /// The transport of the late rank does so. An all_reduce of each tensor, some of one size.
  std::vector<std::string> crooked(const std::string& what) {
    const std::string over = over_sockets_ ? "{ plugin = \"ucx\", tls = [\"tcp\"] }" : "\"shm\"";
    const bool over_sockets = std::exchange(over_sockets_, false);
    std::vector<std::string> words = command(kForEver);
    over_sockets_ = over_sockets;
    words.insert(words.end(), {"--set", "plan=[{strategy=\"data\", bucket_mb=0.000001}]"});
    for (const std::string& each :
         {std::string("plugin=crooked"), "over=" + over, "rank=" + std::to_string(late_), "mark=" + mark(), what})
      words.insert(words.end(), {"--set", "transport." + each});
    return words;
  }
  /// All end, and both that do not do the same are named with their collectives.
  void otherwise(const std::string& what, const std::string& does) {
    expect_kept(kPromise, [&] {
      const auto since = steady_clock::now();
      RunningJob job(crooked(what));
      EXPECT_EQ(job.ends(), 2) << job.err();
      const std::string rank = "rank " + std::to_string(late_) + does;
      expect_line(job, {"error: ", rank, " where rank "});
      EXPECT_NE(job.err().find("train.lua:5 ("), job.err().rfind("train.lua:5 (")) << "one place\n" << job.err();
      EXPECT_EQ(lines_of(job.err()).size(), 1u) << job.err();
      return seconds_since(since);
    });
  }
  static void limit_files(pid_t process) {
    ASSERT_GT(process, 0);
    const rlimit limit{64, 64};
    ASSERT_EQ(prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
  }

  const TemporaryFolder folder_;
  int ranks_, late_, step_, layers_;
  bool over_sockets_;
  int pause_, odd_;
};

TEST(RandomStalls, AreNamedForWhatTheyAre) {
  constexpr void (Stall::*kKinds[])() = {&Stall::late_data,         &Stall::short_stop,
                                         &Stall::long_stop,         &Stall::looping_callback,
                                         &Stall::sleeping_callback, &Stall::another_order,
                                         &Stall::another_shape,     &Stall::lost_collective,
                                         &Stall::full_disk_of_log,  &Stall::full_disk_of_checkpoint};
  std::mt19937_64 random(test::seed());
  for (std::size_t i = 0; i < BALEEN_STALLS && !testing::Test::HasFailure(); ++i) {
    Stall stall(random);
    SCOPED_TRACE("kind " + std::to_string(i % std::size(kKinds)) + ": " + stall.text());
    (stall.*kKinds[i % std::size(kKinds)])();
  }
}

}  // namespace
}  // namespace baleen::test
