/// \file ucx moves what lies in devices' memory where its UCX can (a double of it, tests/support/ucx_double): what is
/// learned has the same bits as by way of the host's memory, and sums alone pass through that.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "cuda_run.hpp"
#include "parity/plan/planned.hpp"

namespace baleen::test {
namespace {

struct DeviceJob {
  const char* name;
  MeshAxes axes;
  std::string plan, script;
  std::vector<std::string> arguments;
};
void PrintTo(const DeviceJob& job, std::ostream* out) { *out << job.name; }

const std::vector<std::string> kModel{"layers=2",  "dim=12",       "heads=4",  "batch=8",
                                      "context=8", "accumulate=2", "clip=0.5", "dropout=0.1"};
std::string zero(int stage) { return "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n"; }
const DeviceJob kDeviceJobs[] = {
    {"zero_1", {{"data", 2}}, zero(1), "gpt", kModel},
    {"zero_2", {{"data", 2}}, zero(2), "gpt", kModel},
    {"zero_3", {{"data", 2}}, zero(3), "gpt", kModel},
    {"zero_of_three", {{"data", 3}}, zero(3), "mlp", {"batch=26", "clip=0.1"}},
    {"sequence", {{"sequence", 2}}, "[[plan]]\nstrategy = \"sequence\"\n", "gpt", kModel},
    {"ring",
     {{"sequence", 2}},
     "[[plan]]\nstrategy = \"sequence\"\nmode = \"ring\"\n",
     "gpt",
     {"layers=1", "dim=12", "heads=4", "batch=8", "context=8", "accumulate=2", "clip=0.5"}},
    {"pipeline", {{"pipeline", 2}}, "[[plan]]\nstrategy = \"pipeline\"\n", "gpt", kModel},
    {"bubbles", {{"pipeline", 2}}, "[[plan]]\nstrategy = \"pipeline\"\nschedule = \"zero_bubble\"\n", "gpt", kModel},
    {"grid", {{"pipeline", 2}, {"data", 2}}, zero(1) + "[[plan]]\nstrategy = \"pipeline\"\n", "gpt", kModel}};

/// The sum of the numbers behind a word, line by line.
std::uint64_t bytes_in(const std::string& log, const std::string& word) {
  std::istringstream lines(log);
  std::uint64_t all = 0, bytes = 0;
  for (std::string did; lines >> did >> bytes;) all += did == word ? bytes : 0;
  return all;
}

class UcxDevices : public testing::TestWithParam<DeviceJob> {
 protected:
  UcxDevices() {
    setenv("LD_LIBRARY_PATH", emulated_folder().c_str(), 1);
    setenv("EMULATED_CUDA_DEVICES", "4", 1);
    setenv("LD_PRELOAD", UCX_DOUBLE.c_str(), 1);
  }
  ~UcxDevices() override {
    for (const char* name : {"LD_LIBRARY_PATH", "EMULATED_CUDA_DEVICES", "LD_PRELOAD", "UCX_DOUBLE_CUDA"})
      unsetenv(name);
  }
  UcxDevices(const UcxDevices&) = delete;

  struct Outcome {
    std::string parameters, log, text;
    std::uint64_t out = 0, in = 0;  ///< bytes that the program itself copied to and from the host
    std::uint64_t moved = 0;        ///< bytes of messages that UCX took from a device's memory
  };
  static std::string manifest() {
    const DeviceJob& job = GetParam();
    return manifest_of(job.axes, kEmulated + "[transport]\nplugin = \"ucx\"\n" + job.plan);
  }
  static void let_ucx_know(bool cuda) { setenv("UCX_DOUBLE_CUDA", cuda ? "1" : "0", 1); }
  /// What six steps learn.
  static Outcome train(bool cuda) {
    const TemporaryFolder folder;
    const std::string file = folder / "end.safetensors", log = folder / "log.jsonl", messages = folder / "messages",
                      copies = folder / "copies";
    let_ucx_know(cuda);
    setenv("UCX_DOUBLE_LOG", messages.c_str(), 1);
    setenv("EMULATED_CUDA_COPIES", copies.c_str(), 1);
    const ProcessResult result = run_parity({"run", "--steps", "6", "--save", file, "--log-json", log},
                                            GetParam().script, manifest(), GetParam().arguments);
    unsetenv("UCX_DOUBLE_LOG");
    unsetenv("EMULATED_CUDA_COPIES");
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const std::string told = cuda ? read_file(messages) : std::string(), copied = read_file(copies);
    EXPECT_EQ(std::filesystem::exists(messages), cuda) << "UCX is given what it does not know, or nothing";
    // The double copies itself what it sends.
    const std::uint64_t sent = bytes_in(told, "sent"), received = bytes_in(told, "received");
    return {read_file(file),
            read_file(log),
            result.out + result.err,
            bytes_in(copied, "out") - sent,
            bytes_in(copied, "in") - received,
            sent};
  }
  static double pinned_in(const std::string& log, int rank) {
    const auto accounts = accounts_in(log, rank + 1);
    const auto found = accounts[static_cast<std::size_t>(rank)].find("planned_bytes.pinned");
    return found == accounts[static_cast<std::size_t>(rank)].end() ? 0 : found->second;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, UcxDevices, testing::ValuesIn(kDeviceJobs),
                         [](const auto& job) { return job.param.name; });

TEST_P(UcxDevices, LearnTheSameBitsWithoutTheHostsMemory) {
  if (const std::string missing = missing_strategy(manifest()); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const Outcome staged = train(false), direct = train(true);
  ASSERT_FALSE(staged.parameters.empty());
  EXPECT_TRUE(direct.parameters == staged.parameters) << "something else is learned";
  EXPECT_GT(direct.moved, 0u);
  EXPECT_LT(direct.out, staged.out) << "what moves is still copied to the host";
  EXPECT_LT(direct.in, staged.in);
  EXPECT_NE(direct.text.find("UCX moves what lies in the devices' memory"), std::string::npos) << direct.text;
  EXPECT_EQ(staged.text.find("devices' memory"), std::string::npos) << staged.text;
}

/// Plans count the pinned memory that a run takes, whichever way collectives go.
TEST_P(UcxDevices, ArePlannedAsTheyRun) {
  if (const std::string missing = missing_strategy(manifest()); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  std::map<bool, double> pinned;
  for (const bool cuda : {false, true}) {
    let_ucx_know(cuda);
    const Planned planned = plan_of(GetParam().script, manifest(), GetParam().arguments);
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    const Outcome ran = train(cuda);
    for (int rank = 0; rank < 2; ++rank) {
      const auto& numbers = planned.of(rank).numbers;
      const auto found = numbers.find("planned_bytes.pinned");
      EXPECT_EQ(found == numbers.end() ? 0 : found->second, pinned_in(ran.log, rank)) << cuda << ", rank " << rank;
    }
    pinned[cuda] = pinned_in(ran.log, 0);
  }
  EXPECT_LE(pinned[true], pinned[false]);
  if (GetParam().axes[0].first == "pipeline") {
    EXPECT_LT(pinned[true], pinned[false]) << "messages have pinned memory";
  }
}

}  // namespace
}  // namespace baleen::test
