/// \file What a save takes of memory, as the kernel counts it.
#include <sys/resource.h>

#include "parity/checkpoint/checkpointed_run.hpp"

namespace baleen::test {
namespace {

/// Of the largest process that this one has started so far, ranks among them.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

/// 38 MiB of parameters on a disk pass through a few MiB on their way to a file.
TEST(Memory, OfAFileOfParametersIsAPieceOfThem) {
  if (!has_plugin("strategy", "offload")) GTEST_SKIP() << "no strategy `offload` in this tree";
  const TemporaryFolder folder;
  const std::string store = "[offload]\nplugin = \"nvme\"\npath = \"" + folder.path() + "\"\n";
  const SplitWork one{
      "", {{"data", 1}}, strategy("offload", "parameters = [\"*\"]\n") + store, {"--dim", "512", "--layers", "3"}};
  const auto peak_of = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--steps", "1"});
    const ProcessResult result = run_saved(one, "", more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return peak_mib();
  };
  const double without = peak_of({}), with = peak_of({"--save", folder / "all.safetensors"});
  EXPECT_GT(std::filesystem::file_size(folder / "all.safetensors"), 36u << 20);
  EXPECT_LE(with - without, 8);
}

/// 9.6 million parameters with two states each on two ranks: 55 MiB a rank. Each run's peak stands above those before
/// it, which are lower: without a save, within a budget, and without one.
TEST(Memory, OfASaveStaysWithinItsBudget) {
  const TemporaryFolder folder;
  const SplitWork two{
      "", {{"data", 2}}, strategy("zero", "stage = 3\naxis = \"data\"\n"), {"--dim", "512", "--layers", "3"}};
  const auto peak_of = [&](const std::string& checkpoint) {
    const ProcessResult result = run_saved(two, checkpoint, {"--steps", "1"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return peak_mib();
  };
  constexpr double kBudget = 16, kRest = 2;  // in MiB; the rest: pages that were not touched before
  const double without = peak_of("");
  const double within = peak_of(in_folder(folder / "within") + "memory_mb = 16\n");
  const double unbounded = peak_of(in_folder(folder / "unbounded"));
  EXPECT_LE(within - without, kBudget + kRest);
  EXPECT_GE(unbounded - without, 45) << "the peak does not tell what a save takes";
  EXPECT_EQ(state_of(folder / "within"), state_of(folder / "unbounded"));
}

}  // namespace
}  // namespace baleen::test
