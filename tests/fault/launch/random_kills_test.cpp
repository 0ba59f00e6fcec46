/// \file Kills at random moments of short runs: no hang, no orphan, no shared memory left, and the victim is named.
#include <csignal>
#include <random>

#include "rank_job.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// A job to kill at.
struct Target {
  std::vector<std::string> command;
  int longest_delay;  ///< microseconds: a little more than it takes
  unsigned stops;     ///< one in so many victims is stopped instead
};

/// One run with one victim, the launcher or a rank, at any moment from its start on. Returns whether it lived then.
bool run_and_kill(const Target& target, std::mt19937& random) {
  const microseconds delay(random() % static_cast<unsigned>(target.longest_delay));
  RunningJob job(target.command);
  std::this_thread::sleep_for(delay);
  const std::set<pid_t> living = job.processes();
  if (living.empty()) return false;
  const pid_t victim = *std::next(living.begin(), static_cast<std::ptrdiff_t>(random() % living.size()));
  const bool is_launcher = victim == job.leader();
  // A launcher stopped for good would wait for good, as it was told.
  const int signal = !is_launcher && random() % target.stops == 0 ? SIGSTOP : SIGKILL;
  SCOPED_TRACE("signal " + std::to_string(signal) + " to the " + (is_launcher ? "launcher" : "process of a rank") +
               " after " + std::to_string(delay.count()) + " us");
  ::kill(victim, signal);
  const auto code = job.ends();
  EXPECT_TRUE(code) << "it hangs:\n" << job.out() << job.err();
  EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); })) << "an orphan is left";
  if (code.value_or(0) == 0 || is_launcher) return true;
  EXPECT_EQ(code, 4) << job.err();
  EXPECT_EQ(lines_of(job.err()).size(), 1u) << job.err();
  int named = -1;
  EXPECT_EQ(std::sscanf(job.err().c_str(), "error: rank %d", &named), 1) << job.err();
  const pid_t process = process_of(job.out(), named);
  EXPECT_TRUE(process == -1 || process == victim) << job.err() << job.out();
  return true;
}

void kill_again_and_again(const Target& target) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const std::set<std::string> before = shared_memory_names();
  int hits = 0;
  for (int i = 0; i < BALEEN_KILLS && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("run " + std::to_string(i));
    hits += run_and_kill(target, random);
  }
  EXPECT_GT(hits, 0);
  for (const std::string& name : shared_memory_names())
    EXPECT_TRUE(before.contains(name) || name.find("baleen") == std::string::npos) << name << " is left in /dev/shm";
}

TEST(RandomKills, OfRanksThatOnlyMeet) {
  kill_again_and_again({rank_program({"3", "stopped=300", "grace=300", "*:pid", "*:work:40", "*:pid"}), 60'000, 4});
}

TEST(RandomKills, OfATraining) { kill_again_and_again({training(3, 200), 300'000, 16}); }

}  // namespace
}  // namespace baleen::test
