/// \file One job over shm, ucx and nccl on emulated devices: the plugin's name is all that differs in the manifests,
/// and nothing in what is learned. And over nccl inside hosts with ucx between them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "cuda_run.hpp"

namespace baleen::test {
namespace {

struct Job {
  const char* name;
  MeshAxes axes;
  std::string plan, script;
  std::vector<std::string> arguments;
};
void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

const std::vector<std::string> kGpt{"layers=2",  "dim=12",       "heads=4",  "batch=8",
                                    "context=8", "accumulate=2", "clip=0.5", "dropout=0.1"};
const Job kJobs[] = {
    {"zero", {{"data", 2}}, "[[plan]]\nstrategy = \"zero\"\nstage = 3\n", "gpt", kGpt},
    {"zero_of_three", {{"data", 3}}, "[[plan]]\nstrategy = \"zero\"\nstage = 3\n", "mlp", {"batch=26", "clip=0.1"}},
    {"tensor", {{"tensor", 2}}, "[[plan]]\nstrategy = \"tensor\"\n", "gpt", kGpt},
    {"pipeline", {{"pipeline", 2}}, "[[plan]]\nstrategy = \"pipeline\"\n", "gpt", kGpt}};

/// The section of a transport alone.
std::string plugin_line(const std::string& name) { return "plugin = \"" + name + "\""; }

class EmulatedRuns : public testing::Test {
 protected:
  EmulatedRuns() {
    // NCCL and the driver are found as on a machine that has them.
    setenv("LD_LIBRARY_PATH", emulated_folder().c_str(), 1);
    setenv("EMULATED_CUDA_DEVICES", "4", 1);
  }
  ~EmulatedRuns() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("EMULATED_CUDA_DEVICES");
  }
  EmulatedRuns(const EmulatedRuns&) = delete;

  /// The parameters after ten steps; `transport`: lines of its section.
  static std::string trained(const Job& job, const std::string& transport) {
    const TemporaryFolder folder;
    const std::string file = folder / "end.safetensors";
    const std::string manifest = manifest_of(job.axes, kEmulated + "[transport]\n" + transport + "\n" + job.plan);
    const ProcessResult result =
        run_parity({"run", "--steps", "10", "--save", file}, job.script, manifest, job.arguments);
    EXPECT_EQ(result.exit_code, 0) << transport << "\n" << result.out << result.err;
    const bool says_double = result.err.find("this is not NVIDIA's NCCL") != std::string::npos ||
                             result.out.find("this is not NVIDIA's NCCL") != std::string::npos;
    EXPECT_EQ(says_double, transport.find("nccl") != std::string::npos);
    return read_file(file);
  }
  /// How many groups of calls NCCL is asked for by rank 0 meanwhile.
  static std::size_t groups_asked(const Job& job, const std::string& options, std::string& learned) {
    const TemporaryFolder folder;
    setenv("NCCL_DOUBLE_LOG", (folder / "asked").c_str(), 1);
    learned = trained(job, plugin_line("nccl") + "\n" + options);
    unsetenv("NCCL_DOUBLE_LOG");
    const std::string text = read_file(folder / "asked.0"), mark = "group of ";
    std::size_t count = 0;
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) ++count;
    return count;
  }
};

class Transports : public EmulatedRuns, public testing::WithParamInterface<Job> {};
INSTANTIATE_TEST_SUITE_P(Of, Transports, testing::ValuesIn(kJobs), [](const auto& job) { return job.param.name; });

TEST_P(Transports, GiveTheSameBits) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const std::string shm = trained(GetParam(), plugin_line("shm"));
  ASSERT_FALSE(shm.empty());
  EXPECT_EQ(trained(GetParam(), plugin_line("nccl")) == shm, true) << "nccl learns something else";
  if (!has_plugin("transport", "ucx")) return;
  EXPECT_EQ(trained(GetParam(), plugin_line("ucx")) == shm, true) << "ucx learns something else";
}

/// NCCL is asked once more to capture them, in the second of ten steps, and not any more from the third on. Sends and
/// receives stay outside, and so may all of a job be.
TEST_P(Transports, ReplayCollectivesWithTheSameBits) {
  if (const std::string missing = missing_strategy(GetParam().plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  std::string started, replayed;
  const std::size_t asked = groups_asked(GetParam(), "", started);
  const std::size_t asked_with = groups_asked(GetParam(), "graphs = true", replayed);
  ASSERT_FALSE(started.empty());
  EXPECT_EQ(replayed == started, true) << "with graphs something else is learned";
  std::cout << asked << " groups, " << asked_with << " with graphs\n";
  if (GetParam().axes[0].first == std::string("pipeline")) return;
  EXPECT_LT(asked_with, asked) << "nothing was replayed";
}

/// The program's arenas are NCCL's memory and windows of it, and end in good order.
TEST_F(EmulatedRuns, WorkInWindowsOfNcclsMemoryAndElsewhere) {
  const Job& job = kJobs[0];
  if (const std::string missing = missing_strategy(job.plan); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const auto asked = [&](const std::string& options, std::string& learned) {
    const TemporaryFolder folder;
    setenv("NCCL_DOUBLE_LOG", (folder / "asked").c_str(), 1);
    learned = trained(job, plugin_line("nccl") + "\n" + options);
    unsetenv("NCCL_DOUBLE_LOG");
    return read_file(folder / "asked.0") + read_file(folder / "asked.1");
  };
  std::string own, device;
  const std::string in_own = asked("windows = true", own), in_device = asked("memory = \"device\"", device);
  ASSERT_FALSE(own.empty());
  EXPECT_EQ(own == device, true) << "another memory, and something else is learned";
  EXPECT_NE(in_own.find("window of "), std::string::npos) << in_own;
  EXPECT_EQ(in_own.find("destroyed with windows"), std::string::npos) << in_own;
  EXPECT_EQ(in_device.find("window of "), std::string::npos) << in_device;
}

TEST_F(EmulatedRuns, OfNcclInsideHostsAndUcxBetweenThemGiveTheSameBits) {
  for (const char* name : {"hierarchy", "ucx"})
    if (!has_plugin("transport", name)) GTEST_SKIP() << "no transport `" << name << "` in this tree";
  const Job job{"data", {{"data", 4}}, "", "mlp", {"batch=26"}};
  const std::string shm = trained(job, plugin_line("shm"));
  ASSERT_FALSE(shm.empty());
  const std::string two = "intra_host = \"nccl\"\ninter_host = \"ucx\"\nranks_per_host = 2";
  EXPECT_EQ(trained(job, two) == shm, true) << "the two learn something else";
}

}  // namespace
}  // namespace baleen::test
