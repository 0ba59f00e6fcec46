/// \file A rank is lost, or its device fails, while others wait for it in a collective that is staged, or goes by nccl,
/// or by ucx where its UCX knows the devices' memory: they end, and say who it was.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "fault/launch/rank_job.hpp"
#include "fault/launch/training_job.hpp"
#include "support/promise.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {
namespace {

using std::chrono::seconds;

constexpr int kForEver = 1'000'000'000;

/// "ucx_device": ucx on a UCX that knows the devices' memory. "nccl_graphs": its collectives are replayed.
class StagedTraining : public testing::TestWithParam<std::string> {
 protected:
  const TemporaryFolder folder_;

  StagedTraining() {
    setenv("LD_LIBRARY_PATH", emulated_folder().c_str(), 1);  // NCCL's double
    setenv("EMULATED_CUDA_DEVICES", "3", 1);
    if (GetParam() == "ucx_device") setenv("LD_PRELOAD", built("ucx_double/libbaleen_ucx_double.so").c_str(), 1);
  }
  ~StagedTraining() override {
    unsetenv("LD_LIBRARY_PATH");
    for (const char* name : {"EMULATED_CUDA_DEVICES", "EMULATED_CUDA_FAULT", "EMULATED_CUDA_FAULT_WHEN", "LD_PRELOAD"})
      unsetenv(name);
  }
  StagedTraining(const StagedTraining&) = delete;

  static bool has_graphs() { return GetParam() == "nccl_graphs"; }
  /// Whether all goes soon as it goes for ever.
  static bool trains(RunningJob& job) {
    constexpr std::chrono::minutes kLong(4);
    return has_graphs() ? job.complains("are replayed from now on", kLong) : job.prints("step 1/", 1, kLong);
  }
  std::vector<std::string> command() const {
    const std::string manifest = folder_.write(
        "ranks.toml",
        "[cluster]\nhosts = [{ name = \"localhost\", ranks = 3 }]\n[mesh]\ndata = 3\n[compute]\nplugin = \"cuda\"\n"
        "libraries = [\"" +
            emulated_folder() + "\"]\ncache = \"" + emulated_folder() + "/cache\"\n[transport]\nplugin = \"" +
            GetParam().substr(0, GetParam().find('_')) + "\"\n" + (has_graphs() ? "graphs = true\n" : "") +
            "[[plan]]\nstrategy = \"zero\"\nstage = 3\n");
    return {build_dir() + "/bin/baleen",
            "run",
            source_dir() + "/tests/parity/mlp.lua",
            "--manifest",
            manifest,
            "--steps",
            std::to_string(kForEver),
            "--",
            "--batch=26"};
  }

  double seconds_after_a_kill(int rank) const {
    RunningJob job(command());
    EXPECT_TRUE(trains(job)) << job.err();
    const pid_t victim = find_rank(job, rank);
    if (victim <= 0 || ::kill(victim, SIGSTOP) != 0) {
      ADD_FAILURE() << "no process of rank " << rank << " runs";
      return 0;
    }
    std::this_thread::sleep_for(seconds(1));  // the others are in a collective now, and wait for it
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(::kill(victim, SIGKILL), 0);
    EXPECT_EQ(job.ends(), 4) << job.err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); })) << "an orphan is left";
    const double took = seconds_since(start);
    const std::string line = only_error(job);
    EXPECT_TRUE(line.starts_with("error: rank " + std::to_string(rank))) << line;
    EXPECT_NE(line.find(": killed by SIGKILL"), std::string::npos) << line;
    return took;
  }

  /// The device of rank 1 fails for good, as all train.
  double seconds_after_a_device_fails(const std::string& name) const {
    setenv("EMULATED_CUDA_FAULT", "baleen_cross_entropy@1", 1);
    setenv("EMULATED_CUDA_FAULT_WHEN", (folder_ / name).c_str(), 1);
    RunningJob job(command());
    EXPECT_TRUE(trains(job)) << job.err();
    const auto start = std::chrono::steady_clock::now();
    folder_.write(name, "now");
    EXPECT_NE(job.ends().value_or(0), 0) << job.err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); })) << "an orphan is left";
    const double took = seconds_since(start);
    const std::string line = only_error(job);
    EXPECT_TRUE(line.starts_with("error: rank 1")) << line;
    EXPECT_NE(line.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos) << line;
    return took;
  }

 private:
  /// The only line of an error, which may have a part of the log behind it; "" where there is none.
  static std::string only_error(const RunningJob& job) {
    Lines errors;
    bool is_log = false;
    for (const std::string& line : lines_of(job.err())) {
      if (line.starts_with("---- ")) is_log = line.starts_with("---- flight recorder");
      const bool is_known = line.starts_with("info: ") || line.starts_with("warning: ");  // nccl's at its start
      if (!is_log && !is_known && !line.starts_with("---- ")) errors.push_back(line);
    }
    EXPECT_EQ(errors.size(), 1u) << job.err();
    return errors.empty() ? "" : errors[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Over, StagedTraining, testing::Values("shm", "ucx", "ucx_device", "nccl", "nccl_graphs"),
                         [](const auto& over) { return over.param; });

TEST_P(StagedTraining, EndsWhenARankIsKilled) {
  for (const int rank : {0, 2}) expect_kept(5, [&] { return seconds_after_a_kill(rank); });
}

TEST_P(StagedTraining, EndsWhenADeviceFails) {
  int tries = 0;
  expect_kept(5, [&] { return seconds_after_a_device_fails("fails" + std::to_string(++tries)); });
}

}  // namespace
}  // namespace baleen::test
