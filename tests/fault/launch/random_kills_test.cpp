/// \file Kills and signals at random moments of short runs on ten clusters, one of two hosts: no hang, no orphan, no
/// shared memory, swap file or partial file left, and the victim is named.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <functional>
#include <random>

#include "rank_job.hpp"
#include "support/seed.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_networks.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

/// A job to kill at.
struct Target {
  std::vector<std::string> command;  ///< "@" stands for a folder of each run
  unsigned stops;                    ///< one in so many victims is stopped instead; 0: none
  /// Whether the process had nothing left to do, by what the job printed: only then the job may end well without it.
  std::function<bool(const std::string& out, pid_t process)> was_done;
  bool may_save = false;               ///< told to end, it may save before it does
  const TwoNetworks* hosts = nullptr;  ///< where it runs on two

  std::set<pid_t> processes(const RunningJob& job) const {
    std::set<pid_t> all = job.processes();
    for (int host = 0; hosts && host < 2; ++host) all.merge(hosts->processes(host));
    return all;
  }
};

/// Who is hit, and by what.
struct Strike {
  pid_t victim;
  bool is_launcher;  ///< the first host's
  int signal;
  bool tells_to_end() const { return signal == SIGTERM || signal == SIGINT; }
};

Strike draw(const Target& target, const RunningJob& job, const std::set<pid_t>& living, std::mt19937_64& random) {
  const pid_t victim = *std::next(living.begin(), static_cast<std::ptrdiff_t>(random() % living.size()));
  const bool is_launcher = victim == job.leader();
  // A launcher stopped for good would wait for good, as it was told.
  if (!is_launcher && target.stops > 0 && random() % target.stops == 0) return {victim, is_launcher, SIGSTOP};
  constexpr std::array kSignals = {SIGKILL, SIGKILL, SIGTERM, SIGINT};
  return {victim, is_launcher, kSignals[random() % kSignals.size()]};
}

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

/// Whether UCX ended a process by one of its own checks: 1.13 does where it was about to connect to a peer that goes.
bool is_check_of_ucx(const std::string& line) {
  return line.find(".c:") != line.npos && line.find("Assertion `") != line.npos;
}

/// Of the lines that are left one names the victim: a rank, or all that a launcher of another host has started.
void expect_named(const Target& target, const RunningJob& job, std::vector<std::string> lines, const Strike& strike) {
  const std::string other = target.hosts ? target.hosts->name(1) : "";
  if (target.hosts)
    std::erase_if(lines, [&](const std::string& line) {
      return line.starts_with("info: ") || line.starts_with("[" + other + "] ");
    });
  // That rank's own lines come before the launcher's, which is still about the victim.
  if (std::ranges::any_of(lines, is_check_of_ucx)) lines = {lines.back()};
  ASSERT_EQ(lines.size(), 1u) << job.err();
  if (target.hosts && lines[0].starts_with("error: host " + other + ": ")) return;
  if (target.hosts && lines[0].starts_with("error: ranks 2, 3 on " + other) &&
      lines[0].find(": the launcher there was told to end by ") != std::string::npos)
    return;
  int named = -1;
  EXPECT_EQ(std::sscanf(lines[0].c_str(), "error: rank %d", &named), 1) << job.err();
  const pid_t process = process_of(job.out(), named);
  EXPECT_TRUE(process == -1 || process == strike.victim) << job.err() << job.out();
}

/// What a job may end with after its launcher or a process of a rank was hit.
void expect_end_of(const Target& target, RunningJob& job, const Strike& strike, int code) {
  if (code == 0) {
    EXPECT_TRUE(target.was_done(job.out(), strike.victim)) << "it ended well without process " << strike.victim << ":\n"
                                                           << job.out();
    return;
  }
  if (target.may_save && strike.tells_to_end() && code == 5) {
    EXPECT_NE(job.err().find("ended by a signal"), std::string::npos) << job.err();
    return;
  }
  if (strike.is_launcher) {
    EXPECT_EQ(code, 128 + strike.signal) << job.err();
    return;
  }
  EXPECT_EQ(code, 4) << job.err();
  std::vector<std::string> lines = lines_of(job.err());
  // On a busy machine a start may take long enough to be told of. What was trained may be saved beside.
  std::erase_if(lines, [](const std::string& line) {
    return line.find("still waiting for") != line.npos || line.starts_with("warning: the parameters after step ");
  });
  expect_named(target, job, lines, strike);
}

/// One run with one victim, the launcher or a rank, at any moment from its start to `longest`. Returns whether it lived
/// then; if not, `longest` comes nearer to what this run took, as others may disturb runs now less than before.
bool run_and_kill(const Target& target, microseconds& longest, std::mt19937_64& random) {
  const microseconds delay(random() % static_cast<std::uint64_t>(longest.count()));
  const TemporaryFolder folder;
  RunningJob job(command_in(folder, target));
  std::this_thread::sleep_for(delay);
  const std::set<pid_t> living = target.processes(job);
  if (living.empty()) {
    const auto code = job.ends();
    EXPECT_EQ(code, 0) << "it ended by itself after less than " << delay.count() << " us: " << job.err();
    longest = std::max((3 * longest + delay) / 4, microseconds(1));
    return false;
  }
  const Strike strike = draw(target, job, living, random);
  SCOPED_TRACE("signal " + std::to_string(strike.signal) + " to the " +
               (strike.is_launcher ? "launcher" : "process of a rank") + " after " + std::to_string(delay.count()) +
               " us");
  ::kill(strike.victim, strike.signal);
  const auto code = job.ends(seconds(10));
  EXPECT_TRUE(code) << "it hangs for more than 10 s:\n" << job.out() << job.err();
  EXPECT_TRUE(holds_within(seconds(60), [&] { return target.processes(job).empty(); })) << "an orphan is left";
  if (code) expect_end_of(target, job, strike, *code);
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
bool made_all_steps(const std::string& out, pid_t) { return out.find("step 200/200") != out.npos; }

TEST_P(RandomKillsOn, ATraining) {
  const Cluster& cluster = GetParam();
  std::vector<std::string> command = {"/usr/bin/env"};
  command.insert(command.end(), cluster.environment.begin(), cluster.environment.end());
  command.insert(command.end(), {build_dir() + "/bin/baleen", "run", source_dir() + "/examples/01_hello/train.lua",
                                 "--steps", "200", "--log-level", "warning"});
  for (const std::string& setting : cluster.settings) command.insert(command.end(), {"--set", setting});
  command.insert(command.end(), cluster.words.begin(), cluster.words.end());
  const bool saves = std::ranges::count(cluster.words, "--save") > 0;
  kill_again_and_again({command, 16, made_all_steps, saves}, (BALEEN_KILLS / 2 + 8) / 9);
}

// Two ranks on each, and a launcher: the second host's is started by the first's.
TEST(RandomKills, OfATrainingOnTwoHosts) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  const TwoNetworks hosts;
  if (!hosts.missing().empty()) GTEST_SKIP() << hosts.missing();
  const TemporaryFolder folder;
  std::string list;
  for (const int host : {0, 1})
    list += "{ name = \"" + hosts.name(host) + "\", ranks = 2, address = \"" + TwoNetworks::address(host) + "\" }, ";
  const std::string manifest = folder.write(
      "cluster.toml", "[cluster]\nhosts = [" + list +
                          "]\nstart = [\"ip\", \"netns\", \"exec\", \"{name}\", \"sh\", \"-c\"]\n[mesh]\ndata = 4\n"
                          "[transport]\ninside = \"shm\"\nbetween = { plugin = \"ucx\", tls = [\"tcp\"] }\n");
  const std::vector<std::string> command = {"/usr/bin/env", "ip",
                                            "netns",        "exec",
                                            hosts.name(0),  build_dir() + "/bin/baleen",
                                            "run",          source_dir() + "/examples/01_hello/train.lua",
                                            "--manifest",   manifest,
                                            "--steps",      "200",
                                            "--log-level",  "warning"};
  kill_again_and_again({command, 0, made_all_steps, false, &hosts}, (BALEEN_KILLS / 2 + 8) / 9);
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
