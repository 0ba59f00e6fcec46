/// \file One bit of one rank's memory is turned while it trains: the run ends at the next look, and the rank is named.
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>

#include "rank_job.hpp"
#include "support/temporary_folder.hpp"
#include "training_job.hpp"

namespace baleen::test {
namespace {

constexpr std::size_t kCount = 1024;   ///< numbers of the tensor that is damaged
constexpr float kNumber = 123.45678F;  ///< each of them

/// Stops a process: what is found in its memory is there still when it is written.
class Stopped {
 public:
  explicit Stopped(pid_t process) : process_(process) {
    kill(process_, SIGSTOP);
    EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return no_thread_runs(); }));
  }
  ~Stopped() { kill(process_, SIGCONT); }
  Stopped(const Stopped&) = delete;

 private:
  bool no_thread_runs() const {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process_) + "/task", gone)) {
      std::string stat;
      std::getline(std::ifstream(entry.path() / "stat"), stat);
      const std::size_t name_end = stat.rfind(')');
      if (name_end != stat.npos && stat.compare(name_end, 3, ") T") != 0) return false;
    }
    return true;
  }
  const pid_t process_;
};

/// Where a process has these bytes.
std::vector<off_t> places_of(pid_t process, int memory, std::string_view pattern) {
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  std::vector<off_t> places;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, rights) != 3 || std::strncmp(rights, "rw", 2) != 0)
      continue;
    if (end - begin > (1ull << 30)) continue;
    std::string bytes(end - begin, '\0');
    if (pread(memory, bytes.data(), bytes.size(), static_cast<off_t>(begin)) != static_cast<ssize_t>(bytes.size()))
      continue;
    for (std::size_t place = bytes.find(pattern); place != bytes.npos; place = bytes.find(pattern, place + 4))
      places.push_back(static_cast<off_t>(begin + place));
  }
  return places;
}

/// Turns the lowest bit of byte `at` of these bytes, wherever the process has a copy. Returns how many it has. It is
/// stopped for the writing alone: a search may take longer on a busy machine than a rank may stay away.
int turn_bit_of(pid_t process, std::string_view pattern, std::size_t at) {
  const int memory = open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_GE(memory, 0);
  const std::vector<off_t> places = places_of(process, memory, pattern);
  int found = 0;
  const Stopped stopped(process);
  for (const off_t place : places) {
    std::string bytes(pattern.size(), '\0');
    if (pread(memory, bytes.data(), bytes.size(), place) != static_cast<ssize_t>(bytes.size()) || bytes != pattern)
      continue;
    const char turned = static_cast<char>(bytes[at] ^ 1);
    found += pwrite(memory, &turned, 1, place + static_cast<off_t>(at)) == 1;
  }
  close(memory);
  return found;
}

/// The same of number `at` of the tensor, or of a piece of `count` numbers.
int turn_bit(pid_t process, std::size_t at, std::size_t count = kCount) {
  const std::vector<float> wanted(count, kNumber);
  return turn_bit_of(process, {reinterpret_cast<const char*>(wanted.data()), count * sizeof(float)},
                     at * sizeof(float));
}

/// The exit code of a job of one process that loses a bit of these bytes. One that is lost while the instruction that
/// compares it is about to write it goes unseen: then it is turned back, which is as wrong, and so on.
std::optional<int> ends_without_a_bit(RunningJob& job, std::string pattern, std::size_t at) {
  std::optional<int> code;
  for (int tries = 0; tries < 5 && !code; ++tries) {
    EXPECT_GE(turn_bit_of(job.leader(), pattern, at), 1) << "it is not in its memory";
    code = job.ends(std::chrono::seconds(10));
    pattern[at] = static_cast<char>(pattern[at] ^ 1);
  }
  return code;
}

std::string bytes_of(const auto& value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

class DamagedMemory : public testing::Test {
 protected:
  static constexpr const char* kForEver = "1000000000";
  /// `then`: what step 100 does once it has printed "there".
  std::unique_ptr<RunningJob> train(int ranks, const std::string& check = "every = 50, memory = false",
                                    const std::vector<std::string>& words = {}, const std::string& steps = kForEver,
                                    const std::string& then = {}) {
    const std::string script = folder_.write(
        "job.lua",
        "local baleen = require 'baleen'\nlocal nn, rows = baleen.nn, {}\n"
        "for i = 1, 64 do rows[i] = { i / 64, i % 3, i % 2 } end\n"
        "return baleen.job { data = baleen.data.table { rows = rows, held_out = 0 }, batch = 12, steps = " +
            steps +
            ",\n"
            "  model = nn.sequential { nn.linear { name = 'kept', out = 512, init = baleen.init.constant(123.45678) "
            "},\n"
            "    nn.tanh {}, nn.linear { out = 2 } },\n"
            "  on_step = function(facts, run) if facts.step == 100 then print('there') " +
            then +
            " end end,\n"
            "  loss = nn.cross_entropy {}, check = { " +
            check + " }, checkpoint = { folder = '" + (folder_ / "kept") +
            "', every = 1000, keep = 1 },\n"
            "  optimizer = baleen.optimizer('adamw', { lr = 1e-5,\n"
            "    groups = { { match = 'kept.*', frozen = true } } }) }\n");
    std::vector<std::string> command = {build_dir() + "/bin/baleen", "run", script};
    if (ranks > 1) command.insert(command.end(), {"--set", "mesh.data=" + std::to_string(ranks)});
    command.insert(command.end(), words.begin(), words.end());
    return std::make_unique<RunningJob>(command);
  }
  /// Some seconds of a script's own time.
  static constexpr const char* kWait = "for i = 1, 4e8 do end";
  /// Of the parameters, and of checkpoints, there is nothing.
  void expect_nothing_saved() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path()))
      EXPECT_FALSE(entry.path().filename().string().starts_with("step-") || entry.path().extension() == ".safetensors")
          << entry.path() << " holds what is damaged";
  }
  const TemporaryFolder folder_;
};

class DamagedRank : public DamagedMemory, public testing::WithParamInterface<int> {};

TEST_P(DamagedRank, OfThreeIsNamed) {
  const auto job = train(3);
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  ASSERT_GE(turn_bit(find_rank(*job, GetParam()), 1000), 1) << "the tensor is not in its memory";
  EXPECT_EQ(job->ends(), 6);
  const int reference = GetParam() == 0 ? 1 : 0;
  const std::string expected = "rank " + std::to_string(GetParam()) + " differs from rank " +
                               std::to_string(reference) +
                               " and 1 other of 3; the first difference is in bytes 0 to 4095 of the piece";
  EXPECT_NE(job->err().find("copies of `kept.weight` are no longer the same after step "), std::string::npos)
      << job->err();
  EXPECT_NE(job->err().find(expected), std::string::npos) << job->err();
  EXPECT_TRUE(holds_within(std::chrono::seconds(10), [&] { return job->processes().empty(); })) << "an orphan is left";
}
INSTANTIATE_TEST_SUITE_P(Number, DamagedRank, testing::Range(0, 3));

TEST_F(DamagedMemory, OfOneOfTwoIsNoticed) {
  const auto job = train(2);
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  ASSERT_GE(turn_bit(find_rank(*job, 1), 3), 1);
  EXPECT_EQ(job->ends(), 6);
  EXPECT_NE(job->err().find("ranks 0 and 1 differ, and which of them is right cannot be told"), std::string::npos)
      << job->err();
}

/// What one rank alone holds is compared with nothing but itself.
TEST_F(DamagedMemory, OfASingleRankIsNoticed) {
  const auto job = train(1, "every = 0");
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  ASSERT_GE(turn_bit(job->leader(), 3), 1);
  EXPECT_EQ(job->ends(), 6);
  EXPECT_EQ(job->err().find("error: `kept.weight` is no longer what the last update wrote, found in step "), 0u)
      << job->err();
  EXPECT_NE(job->err().find("in bytes 0 to 4095 of this rank's piece"), std::string::npos) << job->err();
}

/// Behind the last update nothing uses it but what saves it.
TEST_F(DamagedMemory, BehindTheLastUpdateIsNotSaved) {
  const auto job = train(1, "every = 0", {"--save", folder_ / "model.safetensors"}, "100", kWait);
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  ASSERT_GE(turn_bit(job->leader(), 3), 1);
  EXPECT_EQ(job->ends(), 6);
  EXPECT_NE(
      job->err().find("error: `kept.weight` is no longer what the last update wrote, found after step 100, before "
                      "it was saved, in bytes 0 to 4095"),
      std::string::npos)
      << job->err();
  expect_nothing_saved();
}

TEST_F(DamagedMemory, BeforeACheckpointIsNotSaved) {
  for (const int ranks : {1, 2}) {
    const auto job = train(ranks, "every = 0", {}, kForEver, std::string(kWait) + " run:checkpoint()");
    ASSERT_TRUE(job->prints("there\n")) << job->err();
    ASSERT_GE(turn_bit(ranks == 1 ? job->leader() : find_rank(*job, 1), 3), 1);
    EXPECT_EQ(job->ends(), 6);
    EXPECT_NE(job->err().find("`kept.weight` is no longer what the last update wrote, found after step 100, before it "
                              "was saved, in bytes 0 to 4095"),
              std::string::npos)
        << job->err();
    expect_nothing_saved();
  }
}

/// A state that the backward pass reads and the update writes, on one rank: within a step.
TEST_F(DamagedMemory, OfTheLossScaleIsNoticed) {
  if (!has_plugin("strategy", "precision")) GTEST_SKIP() << "no strategy `precision` in this tree";
  const float scale = 40503.28125F;
  const auto job = train(1, "every = 0",
                         {"--set",
                          "plan=[{strategy=\"precision\", dtype=\"fp16\", initial_scale=40503.28125, "
                          "growth_interval=1000000000}]"});
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  EXPECT_EQ(ends_without_a_bit(*job, bytes_of(scale), 0), 6);
  EXPECT_EQ(job->err().find("error: `precision.loss_scale` is no longer what the last update wrote, found in step "),
            0u)
      << job->err();
}

/// What random numbers are made of: a seed that is one more than it was at the start.
TEST_F(DamagedMemory, OfTheSeedIsNoticed) {
  const std::uint64_t seed = 812'345'678'901'234;
  const auto job = train(1, "every = 0", {"--seed", std::to_string(seed)});
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  EXPECT_EQ(ends_without_a_bit(*job, bytes_of(seed), 0), 6);
  EXPECT_EQ(job->err().find("error: the seed of the job is no longer what it was, found in step "), 0u) << job->err();
}

/// What a data plugin orders its rows by: one rank would see some never and others twice.
TEST_F(DamagedMemory, OfADataSetsOrderIsNoticed) {
  const std::string others = folder_ / "others";
  const std::string script = folder_.write(
      "rows.lua",
      "local baleen = require 'baleen'\n"
      "return baleen.job { data = baleen.data.slow { rank = 1, others = '" +
          others +
          "' }, batch = 8, steps = 1000000000,\n"
          "  model = baleen.nn.linear { out = 2 }, loss = baleen.nn.cross_entropy {}, check = { every = 50 },\n"
          "  on_step = function(facts) if facts.step == 100 then print('there') end end,\n"
          "  checkpoint = { folder = '" +
          (folder_ / "kept") + "' }, optimizer = baleen.optimizer('sgd', { lr = 1e-5 }) }\n");
  RunningJob job({build_dir() + "/bin/baleen", "run", script, "--set", "mesh.data=2", "--plugin-path", STALLS_FOLDER});
  ASSERT_TRUE(job.prints("there\n")) << job.err();
  folder_.write("others", "");
  EXPECT_EQ(job.ends(), 6);
  EXPECT_EQ(job.err().find("error: rank 1, step "), 0u) << job.err();
  EXPECT_NE(
      job.err().find(": the data set gives other rows to train on than it gave before the first step, found after "
                     "step "),
      std::string::npos)
      << job.err();
  expect_nothing_saved();
}

/// Where a store keeps it, and what a step is given of it.
TEST_F(DamagedMemory, OfWhatIsOffloadedIsNoticed) {
  if (!has_plugin("strategy", "offload") || !has_plugin("offload", "host"))
    GTEST_SKIP() << "no strategy `offload` or no backend `host` in this tree";
  const auto job = train(1, "every = 0",
                         {"--set", "plan=[{strategy=\"offload\", parameters=[\"*\"], min_elements=1}]", "--set",
                          "offload={plugin=\"host\"}"});
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  EXPECT_GE(turn_bit(job->leader(), 1000), 1) << "it is not in its memory";
  EXPECT_EQ(job->ends(), 6);
  EXPECT_NE(job->err().find("`kept.weight`"), std::string::npos) << job->err();
  EXPECT_NE(job->err().find("is not what was put there: its checksum differs"), std::string::npos) << job->err();
}

/// Over sockets, so that no rank has another's memory among its own.
TEST_F(DamagedMemory, OfAShardIsNoticedAndItsRankNamed) {
  if (!has_plugin("transport", "ucx")) GTEST_SKIP() << "no transport `ucx` in this tree";
  const auto job = train(2, "every = 0",
                         {"--set", "plan=[{strategy=\"zero\", stage=3}]", "--set", "transport.plugin=ucx", "--set",
                          "transport.tls=[\"tcp\"]", "--set", "transport.direct=false"});
  ASSERT_TRUE(job->prints("there\n")) << job->err();
  ASSERT_GE(turn_bit(find_rank(*job, 1), 500, 512), 1);
  EXPECT_EQ(job->ends(), 6);
  EXPECT_EQ(job->err().find("error: rank 1, step "), 0u) << job->err();
  EXPECT_NE(job->err().find("`kept.weight` is no longer what the last update wrote"), std::string::npos) << job->err();
}

}  // namespace
}  // namespace baleen::test
