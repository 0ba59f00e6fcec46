/// \file A model whose parameters, gradients and states are ten times what a rank may use of the device trains with
/// them outside, with the bits that it has where all of it fits.
#include "parity/cuda/cuda_run.hpp"
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

using nlohmann::json;

struct Job {
  std::string name, store;
  int ranks = 1, layers = 48;
  int budget = 18;        ///< MiB of the device, for all ranks
  bool emulated = false;  ///< on the plugin cuda
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.name; }

class TenTimesTheDevice : public testing::TestWithParam<Job> {
 protected:
  std::string manifest(const std::string& outside, bool bounded) const {
    const Job& job = GetParam();
    const std::string sharded = job.ranks > 1 ? plan_entry("zero", "stage = 3\nbucket_mb = 0.25\n") : "";
    const std::string compute = job.emulated ? kEmulated : "[compute]\nplugin = \"cpu\"\n";
    const std::string of_device = "memory = " + std::to_string(job.budget) + "\n",
                      of_rank = "[memory]\ndevice_mb = " + std::to_string(job.budget / job.ranks) + "\n";
    const std::string memory = job.emulated ? of_rank : of_device;
    return manifest_of({{"data", job.ranks}}, sharded + outside + compute + (bounded ? memory : ""));
  }
  std::vector<std::string> arguments() const {
    return {"dim=144", "layers=" + std::to_string(GetParam().layers), "batch=4", "clip=1.0"};
  }
};

TEST_P(TenTimesTheDevice, TrainsWithTheSameBits) {
  const Job& job = GetParam();
  if (const std::string missing = missing_strategy(manifest("", false)); !missing.empty())
    GTEST_SKIP() << "no strategy `" << missing << "` in this tree";
  const ProcessResult whole = run_parity({"plan", "--json"}, "gpt", manifest("", false), arguments());
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const json one = json::parse(whole.out)["classes"][0];
  const auto state = one["planned_bytes"]["parameters"].get<double>() +
                     one["planned_bytes"]["optimizer"].get<double>() + one["held_gradients_bytes"].get<double>();
  EXPECT_GE(state, 10.0 * job.budget * (1 << 20) / job.ranks);
  EXPECT_EQ(run_parity({"run", "--steps", "1"}, "gpt", manifest("", true), arguments()).exit_code, 3);
  const auto expected = outcome_of(manifest("", false), arguments(), 2);
  ASSERT_EQ(expected.first.size(), 2u);
  const TemporaryFolder swap;
  const std::string store = offloaded_to(job.store, job.store == "nvme" ? on_disk(swap) : std::string(), kEverything);
  const auto got = outcome_of(manifest(store, true), arguments(), 2);
  EXPECT_EQ(got.first, expected.first);
  EXPECT_TRUE(got.second == expected.second) << "saved parameters differ";
}

INSTANTIATE_TEST_SUITE_P(All, TenTimesTheDevice,
                         testing::Values(Job{"HostOneRank", "host"}, Job{"HostTwoRanks", "host", 2},
                                         Job{"HostFourRanks", "host", 4, 96, 36}, Job{"NvmeOneRank", "nvme"},
                                         Job{"NvmeTwoRanks", "nvme", 2}, Job{"NvmeFourRanks", "nvme", 4, 96, 36}),
                         [](const auto& one) { return one.param.name; });

#if EMULATES_CUDA
INSTANTIATE_TEST_SUITE_P(OnTheEmulatedDevice, TenTimesTheDevice,
                         testing::Values(Job{"HostOneRank", "host", 1, 14, 5, true},
                                         Job{"NvmeTwoRanks", "nvme", 2, 14, 5, true}),
                         [](const auto& one) { return one.param.name; });
#endif

}  // namespace
}  // namespace baleen::test
