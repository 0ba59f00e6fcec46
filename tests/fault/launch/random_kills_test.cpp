/// \file Kills at random moments of short runs on nine clusters: no hang, no orphan, no shared memory, swap file or
/// partial file left, and the victim is named.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <random>

#include "rank_job.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// A job to kill at.
struct Target {
  std::vector<std::string> command;  ///< "@" stands for a folder of each run
  unsigned stops;                    ///< one in so many victims is stopped instead
  /// Whether the process had nothing left to do, by what the job printed: only then the job may end well without it.
  std::function<bool(const std::string& out, pid_t process)> was_done;
};

std::vector<std::string> command_in(const TemporaryFolder& folder, const Target& target) {
  std::vector<std::string> words = target.command;
  for (std::string& word : words)
    if (const std::size_t at = word.find('@'); at != word.npos) word.replace(at, 1, folder.path());
  return words;
}

/// Files that belong to a process: swap files, and those that were not written to their end.
std::vector<std::string> leftovers(const TemporaryFolder& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().filename();
    if (name.find("partial") != name.npos || name.find("swap") != name.npos) found.push_back(entry.path());
  }
  return found;
}

/// How long the job takes when nobody is killed: the shortest of three runs.
microseconds undisturbed(const Target& target) {
  microseconds least = microseconds::max();
  for (int i = 0; i < 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const TemporaryFolder folder;
    RunningJob job(command_in(folder, target));
    EXPECT_EQ(job.ends(), 0) << job.err();
    EXPECT_TRUE(target.was_done(job.out(), process_of(job.out(), 0))) << "its last words are others: " << job.out();
    const auto took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, std::chrono::duration_cast<microseconds>(took));
  }
  return least;
}

/// What a job may end with after its launcher or a process of a rank was hit.
void expect_end_of(const Target& target, RunningJob& job, pid_t victim, int code) {
  if (code == 0) {
    EXPECT_TRUE(target.was_done(job.out(), victim)) << "it ended well without process " << victim << ":\n" << job.out();
    return;
  }
  if (victim == job.leader()) {
    EXPECT_EQ(code, 128 + SIGKILL) << job.err();
    return;
  }
  EXPECT_EQ(code, 4) << job.err();
  std::vector<std::string> lines = lines_of(job.err());
  // On a busy machine a start may take long enough to be told of. What was trained may be saved beside.
  std::erase_if(lines, [](const std::string& line) {
    return line.find("still waiting for rank") != line.npos || line.starts_with("warning: the parameters after step ");
  });
  ASSERT_EQ(lines.size(), 1u) << job.err();
  int named = -1;
  EXPECT_EQ(std::sscanf(lines[0].c_str(), "error: rank %d", &named), 1) << job.err();
  const pid_t process = process_of(job.out(), named);
  EXPECT_TRUE(process == -1 || process == victim) << job.err() << job.out();
}

/// One run with one victim, the launcher or a rank, at any moment from its start to `longest`. Returns whether it lived
/// then; if not, `longest` comes nearer to what this run took, as others may disturb runs now less than before.
bool run_and_kill(const Target& target, microseconds& longest, std::mt19937_64& random) {
  const microseconds delay(random() % static_cast<std::uint64_t>(longest.count()));
  const TemporaryFolder folder;
  RunningJob job(command_in(folder, target));
  std::this_thread::sleep_for(delay);
  const std::set<pid_t> living = job.processes();
  if (living.empty()) {
    const auto code = job.ends();
    EXPECT_EQ(code, 0) << "it ended by itself after less than " << delay.count() << " us: " << job.err();
    longest = std::max((3 * longest + delay) / 4, microseconds(1));
    return false;
  }
  const pid_t victim = *std::next(living.begin(), static_cast<std::ptrdiff_t>(random() % living.size()));
  const bool is_launcher = victim == job.leader();
  // A launcher stopped for good would wait for good, as it was told.
  const int signal = !is_launcher && random() % target.stops == 0 ? SIGSTOP : SIGKILL;
  SCOPED_TRACE("signal " + std::to_string(signal) + " to the " + (is_launcher ? "launcher" : "process of a rank") +
               " after " + std::to_string(delay.count()) + " us");
  ::kill(victim, signal);
  const auto code = job.ends(seconds(10));
  EXPECT_TRUE(code) << "it hangs for more than 10 s:\n" << job.out() << job.err();
  EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); })) << "an orphan is left";
  if (code) expect_end_of(target, job, victim, *code);
  if (leftovers(folder).empty()) return true;
  // The next run there clears away what belongs to nobody.
  std::vector<std::string> again = command_in(folder, target);
  again.insert(again.end(), {"--resume", "auto"});
  RunningJob next(again);
  EXPECT_EQ(next.ends(), 0) << next.err();
  EXPECT_EQ(leftovers(folder), std::vector<std::string>());
  return true;
}

void kill_again_and_again(const Target& target, int kills) {
  std::mt19937_64 random(seed());
  const std::set<std::string> before = shared_memory_names();
  microseconds longest = undisturbed(target);
  int hits = 0;
  for (int i = 0; hits < kills && i < 2 * kills + 10 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("run " + std::to_string(i));
    hits += run_and_kill(target, longest, random);
  }
  EXPECT_EQ(hits, kills) << "too few lived when they should be hit";
  EXPECT_EQ(shared_memory_left(before), std::set<std::string>());
}

// Each rank tells its process when it comes, and again as the last it does.
TEST(RandomKills, OfRanksThatOnlyMeet) {
  const auto told_twice = [](const std::string& out, pid_t process) {
    int told = 0, all = 0;
    for (const std::string& line : lines_of(out)) {
      told += line.ends_with("pid " + std::to_string(process));
      all += line.find("pid ") != std::string::npos;
    }
    return told == 2 || all == 6;
  };
  kill_again_and_again({rank_program({"3", "stopped=300", "grace=300", "*:pid", "*:work:40", "*:pid"}), 4, told_twice},
                       BALEEN_KILLS / 2);
}

struct Cluster {
  const char* name;
  std::vector<std::string> settings;
  std::vector<std::string> words = {}, environment = {};
};
void PrintTo(const Cluster& cluster, std::ostream* out) { *out << cluster.name; }

const std::string kData = "plan=[{strategy=\"data\"}]", kUcx = "transport.plugin=\"ucx\"";

class RandomKillsOn : public testing::TestWithParam<Cluster> {};

// No step ends without all ranks, so where the last one has, all have done their part.
TEST_P(RandomKillsOn, ATraining) {
  const Cluster& cluster = GetParam();
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), cluster.environment.begin(), cluster.environment.end());
  command.insert(command.end(), {build_dir() + "/bin/baleen", "run", source_dir() + "/examples/01_hello/train.lua",
                                 "--steps", "200", "--log-level", "warning"});
  for (const std::string& setting : cluster.settings) command.insert(command.end(), {"--set", setting});
  command.insert(command.end(), cluster.words.begin(), cluster.words.end());
  const auto made_all_steps = [](const std::string& out, pid_t) { return out.find("step 200/200") != out.npos; };
  kill_again_and_again({command, 16, made_all_steps}, (BALEEN_KILLS / 2 + 8) / 9);
}

INSTANTIATE_TEST_SUITE_P(
    Clusters, RandomKillsOn,
    testing::Values(Cluster{"SharedMemory", {"mesh.data=3", kData}}, Cluster{"Ucx", {"mesh.data=2", kData, kUcx}},
                    // The files that its posix makes have their names for milliseconds, and may be left there.
                    Cluster{"UcxPosix",
                            {"mesh.data=2", "plan=[{strategy=\"zero\",stage=2}]", kUcx, "transport.tls=[\"posix\"]"},
                            {},
                            {"UCX_POSIX_DIR=@"}},
                    Cluster{"Encrypted", {"mesh.data=2", kData, kUcx, "transport.encrypt=true"}},
                    Cluster{"Zero1", {"mesh.data=2", "plan=[{strategy=\"zero\",stage=1}]"}},
                    Cluster{"Zero3", {"mesh.data=3", "plan=[{strategy=\"zero\",stage=3}]"}},
                    Cluster{"Tensor2d", {"mesh.tensor=4", "plan=[{strategy=\"tensor\",mode=\"2d\"}]"}},
                    Cluster{"OffloadNvme",
                            {"mesh.data=2",
                             "plan=[{strategy=\"data\"},{strategy=\"offload\",parameters=[\"*\"],min_elements=1}]",
                             "offload.plugin=\"nvme\"", "offload.path=[\"@\"]"}},
                    Cluster{"Checkpoints",
                            {"mesh.data=2", kData, "checkpoint={folder=\"@/checkpoints\",every=20}"},
                            {"--save", "@/model.safetensors"}}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace baleen::test
