/// \file A run through one transport or through two, whatever the hosts: the same losses and parameters, bit for bit.
#include "parity/parity_run.hpp"
#include "support/run_log.hpp"

namespace baleen::test {
namespace {

/// What a run leaves: the loss of every step, and the file of its parameters.
struct Outcome {
  std::vector<double> losses;
  std::string parameters, err;
};

Outcome outcome_of(const std::string& script, const std::string& manifest, const std::vector<std::string>& arguments) {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl", saved = folder / "p.safetensors";
  const ProcessResult result =
      run_parity({"run", "--steps", "6", "--log-json", log, "--save", saved}, script, manifest, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err << manifest;
  return {steps_in(read_file(log), "loss"), read_file(saved), result.err};
}

struct Job {
  std::string name, script;
  MeshAxes axes;
  std::string plan;
  std::vector<std::string> arguments;
  std::vector<int> ranks_per_host;  ///< those where sums go by hosts, and those where they cannot
};
void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

class HierarchyRuns : public testing::TestWithParam<Job> {
 protected:
  void SetUp() override {
    for (const char* strategy : {"zero", "tensor"})
      if (!has_plugin("strategy", strategy)) GTEST_SKIP() << "no strategy `" << strategy << "` in this tree";
  }
};

TEST_P(HierarchyRuns, AreThoseOfEachTransportBitForBit) {
  const Job& job = GetParam();
  const auto run = [&](const std::string& transport) {
    return outcome_of(job.script, manifest_of(job.axes, "[transport]\n" + transport + "\n" + job.plan), job.arguments);
  };
  const Outcome expected = run("plugin = \"shm\"");
  EXPECT_EQ(expected.losses.size(), 6u);
  EXPECT_GT(expected.parameters.size(), 1000u);
  const auto expect_same = [&](const std::string& transport) {
    const Outcome got = run(transport);
    EXPECT_EQ(got.losses, expected.losses) << transport;
    EXPECT_TRUE(got.parameters == expected.parameters) << "other parameters with " << transport;
    return got.err;
  };
  expect_same("plugin = \"ucx\"\ntls = [\"tcp\"]");
  for (const int ranks : job.ranks_per_host) {
    const std::string log =
        expect_same("intra_host = \"shm\"\ninter_host = { plugin = \"ucx\", tls = [\"tcp\"] }\nranks_per_host = " +
                    std::to_string(ranks));
    EXPECT_NE(log.find("shm inside hosts, ucx between the "), std::string::npos) << log;
  }
}

const std::string kZero = "[[plan]]\nstrategy = \"zero\"\nstage = 3\n[[plan]]\nstrategy = \"tensor\"\nmode = \"1d\"\n";

INSTANTIATE_TEST_SUITE_P(
    Jobs, HierarchyRuns,
    testing::Values(
        Job{"mlp_data_4", "mlp", {{"data", 4}}, "", {}, {2, 3}},
        Job{"gpt_data_6", "gpt", {{"data", 6}}, "", {"clip=0.5", "bucket_mb=0.01"}, {2, 3}},
        Job{"gpt_zero_2_tensor_2", "gpt", {{"data", 2}, {"tensor", 2}}, kZero, {"heads=4", "clip=1"}, {2, 3}},
        Job{"gpt_zero_4_tensor_2", "gpt", {{"data", 4}, {"tensor", 2}}, kZero, {"heads=4"}, {4}}),
    [](const auto& info) { return info.param.name; });

TEST(HierarchyLog, SaysWhatGoesNotByHostsAndWhatIsNotUsed) {
  const auto log_with = [](const std::string& more) {
    return outcome_of("mlp",
                      manifest_of({{"data", 4}}, "[transport]\nintra_host = \"shm\"\ninter_host = \"ucx\"\n" + more),
                      {})
        .err;
  };
  EXPECT_NE(log_with("ranks_per_host = 3\n").find("are no subtrees of the deterministic sum (said once)"),
            std::string::npos);
  EXPECT_EQ(log_with("ranks_per_host = 2\n").find("said once"), std::string::npos);
  EXPECT_NE(log_with("").find("all ranks are on one host: `ucx` between hosts is not used"), std::string::npos);
  EXPECT_NE(log_with("ranks_per_host = 1\n").find("every rank is on a host of its own: `shm` inside hosts is not used"),
            std::string::npos);
}

}  // namespace
}  // namespace baleen::test
