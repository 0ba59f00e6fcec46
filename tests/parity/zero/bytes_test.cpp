/// \file What shards of model states take and send, against the formulas of ZeRO (Rajbhandari et al., arXiv
/// 1910.02054): bytes that programs of fp32 runs account for, rank by rank (parity.plan has
/// those that a transport is given).
#include "parity/parity_run.hpp"

namespace baleen::test {
namespace {

/// Parameters of tests/parity/mlp.lua: 3 → 17 → 3 → 11 → 5, weights and biases.
const std::vector<std::int64_t> kSizes{3 * 17, 17, 17 * 3, 3, 3 * 11, 11, 11 * 5, 5};
constexpr double kBytes = 4;

/// What a rank holds of all parameters: blocks of ceil(n / ranks), the last short or empty.
double shard_elements(int ranks, int rank) {
  double elements = 0;
  for (const std::int64_t size : kSizes) {
    const std::int64_t block = (size + ranks - 1) / ranks;
    elements += static_cast<double>(std::min(size, (rank + 1) * block) - std::min(size, rank * block));
  }
  return elements;
}

double all_elements() {
  double elements = 0;
  for (const std::int64_t size : kSizes) elements += static_cast<double>(size);
  return elements;
}

std::string plan(int stage, const std::string& options = "") {
  return "[[plan]]\nstrategy = \"zero\"\nstage = " + std::to_string(stage) + "\n" + options;
}

class ZeroBytes : public ::testing::TestWithParam<int> {};

TEST_P(ZeroBytes, StatesTakeAShard) {
  for (const int ranks : {2, 4}) {
    const auto account = account_of("mlp", manifest_of({{"data", ranks}}, plan(GetParam())), ranks, {"batch=16"});
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& own = account[static_cast<std::size_t>(rank)];
      const double shard = shard_elements(ranks, rank);
      EXPECT_EQ(own.at("planned_bytes.optimizer"), 2 * kBytes * shard) << ranks << " " << rank;
      EXPECT_EQ(own.at("planned_bytes.parameters"), kBytes * (GetParam() == 3 ? shard : all_elements()));
    }
  }
}

/// Gradients are reduce-scattered, updated parameters gathered: 2 Ψ (N - 1) / N together; with stage 3 parameters are
/// gathered in forward and in backward, in each micro-batch.
TEST_P(ZeroBytes, SendsWhatTheFormulaSays) {
  const int stage = GetParam(), ranks = 4;
  for (const int micro : {1, 2})
    for (const bool local : {false, true}) {
      const auto account = account_of(
          "mlp", manifest_of({{"data", ranks}}, plan(stage, local ? "reduce_gradients = \"once_per_step\"\n" : "")),
          ranks, {"batch=16", "accumulate=" + std::to_string(micro)});
      double scattered = 0, gathered = 0, shards = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const auto& own = account[static_cast<std::size_t>(rank)];
        scattered += own.at("sent_bytes.reduce_scatter.data");
        gathered += own.at("sent_bytes.all_gather.data");
        shards += shard_elements(ranks, rank);
      }
      const double one = kBytes * (ranks - 1) * shards;  // Ψ (N - 1) / N per rank, over all ranks
      EXPECT_EQ(scattered, one * (stage == 1 || local ? 1 : micro)) << micro << local;
      // Backward needs no weight of the first layer (nobody wants the gradient of the rows), and no bias.
      const double backward = kBytes * (ranks - 1) * (17 * 3 + 3 * 11 + 11 * 5);
      EXPECT_EQ(gathered, stage < 3 ? one : micro * (one + backward)) << micro << local;
    }
}

INSTANTIATE_TEST_SUITE_P(Stages, ZeroBytes, ::testing::Values(1, 2, 3));

/// A bound on gathered parameters lowers what is planned; without one, and with everything ahead, all are there at
/// once.
TEST(ZeroMemory, IsBoundedByLiveParameters) {
  const auto activations = [](const std::string& options) {
    return account_of("gpt", manifest_of({{"data", 2}}, plan(3, options)), 2, {"batch=2", "dim=48"})[0].at(
        "working_bytes");
  };
  const double all = activations("bucket_mb = 0.02\nprefetch = 1000\n");
  const double few = activations("bucket_mb = 0.02\nprefetch = 1000\nlive_mb = 0.08\n");
  const double one = activations("bucket_mb = 0.02\nprefetch = 0\n");
  EXPECT_GT(all, few + 100e3);
  EXPECT_GE(few, one);
}

TEST(ZeroMemory, RefusesABoundThatCannotHold) {
  const ProcessResult result = run_parity({"run", "--steps", "1"}, "gpt",
                                          manifest_of({{"data", 2}}, plan(3, "bucket_mb = 1\nlive_mb = 0.01\n")), {});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("`max_live_parameters_mb` allows 10485"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("or `bucket_mb` smaller"), std::string::npos) << result.err;
}

TEST(ZeroOptions, AreChecked) {
  const auto refused = [](const std::string& options) {
    const ProcessResult result = run_parity(
        {"run", "--steps", "1"}, "mlp", manifest_of({{"data", 2}}, "[[plan]]\nstrategy = \"zero\"\n" + options), {});
    EXPECT_EQ(result.exit_code, 2);
    return result.err;
  };
  EXPECT_NE(refused("").find("`stage`"), std::string::npos);
  EXPECT_NE(refused("stage = 4\n").find("`stage`"), std::string::npos);
  EXPECT_NE(refused("stage = 2\naxis = \"rows\"\n").find("works along the mesh axis `rows`, and the mesh has none"),
            std::string::npos);
  EXPECT_NE(refused("stage = 2\nextra_axes = \"data\"\n").find("`extra_axes` names the axis `data`"),
            std::string::npos);
  EXPECT_NE(refused("stage = 2\nreduce_gradients = \"once_a_step\"\n").find("did you mean `once_per_step`?"),
            std::string::npos);
  for (const char* option : {"prefetch = 2", "max_live_parameters_mb = 1"}) {
    const std::string name = std::string("`") + option;
    EXPECT_NE(refused("stage = 2\n" + std::string(option) + "\n")
                  .find(name.substr(0, name.find(' ')) +
                        "` is of stage = 3, whose parameters are gathered, and the stage is 2; leave it out"),
              std::string::npos)
        << option;
  }
}

}  // namespace
}  // namespace baleen::test
