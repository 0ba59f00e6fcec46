/// \file Several ranks on devices whose memory their transport does not reach: the same losses as on the processor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cuda_run.hpp"

namespace baleen::test {
namespace {

struct Case {
  std::string axis, plan, script;
  std::vector<std::string> arguments;
};

const std::vector<std::string> kGpt{"layers=1",  "dim=12",      "heads=4",      "batch=8",
                                    "context=8", "dropout=0.1", "accumulate=2", "clip=0.5"};

const Case kData{"data", "strategy = \"data\"\nbucket_mb = 0.02\n", "gpt", kGpt};
const Case kShards{"data", "strategy = \"zero\"\nstage = 3\n", "gpt", kGpt};
const Case kTensor{"tensor", "strategy = \"tensor\"\n", "gpt", kGpt};
const Case kHeads{"sequence", "strategy = \"sequence\"\n", "gpt", kGpt};
const Case kNetwork{"data", "strategy = \"zero\"\nstage = 1\n", "mlp", {"batch=26", "accumulate=2", "clip=0.1"}};

constexpr const char* kCpu = "[compute]\nplugin = \"cpu\"\n";
/// The largest gradient goes in several pieces of 4 KiB.
constexpr const char* kInPieces = "[memory]\npinned_mb = 0.02\n";

/// Of the transport's section, by name; with as many ranks.
struct Over {
  const char* name;
  const char* section;
  int ranks;
};
void PrintTo(const Over& over, std::ostream* out) { *out << over.name; }

constexpr Over kOver[] = {
    {"shm", "plugin = \"shm\"\n", 2},
    {"ucx", "plugin = \"ucx\"\n", 2},
    {"both", "intra_host = \"shm\"\ninter_host = \"ucx\"\nranks_per_host = 2\n", 4},
};

class Staging : public testing::TestWithParam<Over> {
 protected:
  const TemporaryFolder folder_;

  struct Outcome {
    std::vector<double> losses;
    std::string log, checkpoint;
  };
  /// Twenty steps; `sections`: of the manifest, behind [compute].
  Outcome run(const Case& c, const std::string& compute, const std::string& sections,
              const std::vector<std::string>& options = {}) const {
    const std::string log = folder_ / "log.jsonl", file = folder_ / "end.safetensors";
    std::vector<std::string> command{"run", "--steps", "20", "--log-json", log, "--save", file};
    command.insert(command.end(), options.begin(), options.end());
    const std::string manifest =
        manifest_of({{c.axis, GetParam().ranks}},
                    compute + sections + "[transport]\n" + GetParam().section + "[[plan]]\n" + c.plan);
    const ProcessResult result = run_parity(command, c.script, manifest, c.arguments);
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    const std::string text = read_file(log);
    return {steps_in(text, "loss"), text, read_file(file)};
  }
  static void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double limit) {
    ASSERT_EQ(wanted.size(), 20u);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_LE(std::abs(got[i] - wanted[i]), limit * std::abs(wanted[i])) << "step " << i;
  }
  /// As on the processor, in many pieces.
  void expect_same(const Case& c) const {
    const Outcome processor = run(c, kCpu, ""), pieces = run(c, kEmulated, kInPieces);
    expect_near(pieces.losses, processor.losses, 1e-4);
    EXPECT_NE(pieces.log.find("\"rank.1.planned_bytes.pinned\""), std::string::npos);
    EXPECT_EQ(processor.log.find("planned_bytes.pinned"), std::string::npos) << "the host copies its own memory";
  }
};
INSTANTIATE_TEST_SUITE_P(Over, Staging, testing::ValuesIn(kOver), [](const auto& over) { return over.param.name; });

TEST_P(Staging, TrainsCopies) { expect_same(kData); }
TEST_P(Staging, TrainsShards) { expect_same(kShards); }
TEST_P(Staging, TrainsShardsOfUnequalSize) { expect_same(kNetwork); }
TEST_P(Staging, TrainsSplitTensors) { expect_same(kTensor); }
TEST_P(Staging, TrainsSplitSequences) { expect_same(kHeads); }

TEST_P(Staging, ChangesNoBitByCuttingCollectives) {
  const Outcome whole = run(kShards, kEmulated, ""), pieces = run(kShards, kEmulated, kInPieces);
  EXPECT_EQ(whole.losses, pieces.losses);
  EXPECT_EQ(whole.checkpoint, pieces.checkpoint);
}

/// In fp64 nothing but the order of sums inside kernels differs.
TEST_P(Staging, IsExact) {
  const std::vector<std::string> exact{"--dtype", "fp64"};
  expect_near(run(kShards, kEmulated, "", exact).losses, run(kShards, kCpu, "", exact).losses, 1e-10);
}

/// What one of them writes the other reads.
TEST_P(Staging, SharesCheckpointsWithTheProcessor) {
  const Outcome first = run(kShards, kCpu, "");
  const std::string written = folder_.write("start.safetensors", first.checkpoint);
  const std::vector<std::string> load{"--load", written};
  const Outcome loaded = run(kShards, kEmulated, "", load);
  expect_near(loaded.losses, run(kShards, kCpu, "", load).losses, 1e-4);
  EXPECT_LT(loaded.losses[0], 0.95 * first.losses[0]) << "it has not loaded";
}

/// Two ranks against one, in fp64, with chunks of a sequence that are no neighbours.
void expect_equal_ring(const std::vector<std::string>& arguments) {
  const std::string plan = "[transport]\nplugin = \"shm\"\n[[plan]]\nstrategy = \"sequence\"\nmode = \"ring\"\n";
  expect_equal(
      run_parity({"verify", "--steps", "3"}, "gpt", manifest_of({{"sequence", 2}}, kEmulated + plan), arguments), 3);
}
TEST(Ring, TrainsOnTheDevice) { expect_equal_ring(kGpt); }
/// What travels around the ring has 16 bits, what is merged 32.
TEST_P(Staging, TrainsRingsIn16Bits) {
  const Case ring{"sequence",
                  "strategy = \"sequence\"\nmode = \"ring\"\n[[plan]]\nstrategy = \"precision\"\ndtype = \"bf16\"\n",
                  "gpt",
                  {"layers=1", "dim=16", "heads=2", "batch=8", "context=16", "clip=0.5"}};
  expect_near(run(ring, kEmulated, "").losses, run(ring, kCpu, "").losses, 2e-3);
}
/// Without room for a row's sums or a tile norms' gradients and attention are computed by other ops.
TEST(Ring, TrainsOnADeviceOfLittleSharedMemory) {
  setenv("EMULATED_CUDA_SHARED", "4100", 1);
  expect_equal_ring(kGpt);
  unsetenv("EMULATED_CUDA_SHARED");
}

}  // namespace
}  // namespace baleen::test
