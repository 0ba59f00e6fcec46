/// \file What lies in the host's memory has to fit there beside what else the ranks of the host take of it: as `plan`
/// and `run` see it, before any work. The kernel's word of free memory is one of the tests' own, in a mount namespace.
#include "parity/offload/offload_run.hpp"

namespace baleen::test {
namespace {

/// Parameters with states and gradients of 100 MiB.
const std::vector<std::string> kHundredMiB{"dim=512", "heads=8", "layers=2", "context=16"};

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (run_process({"unshare", "-m", "true"}).exit_code != 0) GTEST_SKIP() << "mount namespaces need privileges";
  }

  /// `baleen COMMAND` of a GPT where the kernel says that so many MiB are available.
  static ProcessResult with_available(int mib, const std::vector<std::string>& command, const std::string& manifest) {
    const TemporaryFolder folder;
    const std::string told =
        folder.write("meminfo", "MemTotal: 100000000 kB\nMemAvailable: " + std::to_string(mib * 1024) + " kB\n");
    std::vector<std::string> words{"unshare",
                                   "-m",
                                   "sh",
                                   "-c",
                                   "mount --bind \"$0\" /proc/meminfo && exec \"$@\"",
                                   told,
                                   build_dir() + "/bin/baleen"};
    words.push_back(command[0]);
    words.insert(words.end(), {source_dir() + "/tests/parity/gpt.lua", "--manifest", folder.write("r.toml", manifest)});
    words.insert(words.end(), command.begin() + 1, command.end());
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
    for (const std::string& word : kHundredMiB) words.push_back("--" + word);
    return run_process(words, {{}, std::chrono::minutes(2), {}});
  }

  static void expect_refused(int mib, const std::string& manifest, const std::string& words) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"plan"}, std::vector<std::string>{"run", "--steps", "1"}}) {
      const ProcessResult result = with_available(mib, command, manifest);
      EXPECT_EQ(result.exit_code, 3) << command[0] << result.out << result.err;
      EXPECT_NE(result.err.find(words), std::string::npos) << command[0] << result.err;
      EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << result.out;
    }
  }
};

const std::string kAsNeeded = plan_entry("offload", "as_needed = true\n");

TEST_F(HostMemory, IsNotFreedByWhatMovesWithinIt) {
  expect_refused(58, manifest_of({{"data", 1}}, kAsNeeded), "of its host's memory (");
  expect_refused(130, manifest_of({{"data", 1}}, offloaded_to("host", "", kEverything)), "and the host has 130.0 MiB");
}

TEST_F(HostMemory, SoNoAdviceNamesIt) {
  const ProcessResult plan = with_available(58, {"plan"}, manifest_of({{"data", 1}}, ""));
  EXPECT_EQ(plan.exit_code, 3) << plan.out << plan.err;
  EXPECT_NE(plan.out.find("DOES NOT FIT into"), std::string::npos) << plan.out;
  EXPECT_NE(plan.out.find("other plans fits"), std::string::npos) << plan.out;
  EXPECT_EQ(plan.out.find("strategy `offload`"), std::string::npos) << plan.out;
}

TEST_F(HostMemory, IsThatOfAllRanksOfAHost) {
  const std::string four = manifest_of({{"data", 4}}, plan_entry("data") + offloaded_to("host", "", kEverything));
  expect_refused(200, four, "200.0 MiB (209715200 bytes) for 4 ranks");
  const ProcessResult enough = with_available(4096, {"plan"}, four);
  EXPECT_EQ(enough.exit_code, 0) << enough.out << enough.err;
}

/// A plan for other machines is not judged by this one.
TEST_F(HostMemory, IsNotKnownOfOtherHosts) {
  const std::string manifest = offloaded_to("host", "", kEverything);
  const ProcessResult far = with_available(
      58, {"plan"}, "[cluster]\nhosts = [{ name = \"far\", ranks = 1 }]\n[compute]\nmemory = 4000\n" + manifest);
  EXPECT_EQ(far.exit_code, 0) << far.out << far.err;
}

TEST_F(HostMemory, IsFreedByWhatMovesToDisks) {
  const TemporaryFolder swap;
  const std::string manifest = manifest_of(
      {{"data", 1}},
      kAsNeeded + "[[offload]]\nplugin = \"host\"\nbudget_mb = 8\n[[offload]]\nplugin = \"nvme\"\n" + on_disk(swap));
  const ProcessResult plan = with_available(70, {"plan"}, manifest);
  EXPECT_EQ(plan.exit_code, 0) << plan.out << plan.err;
  const ProcessResult run = with_available(70, {"run", "--steps", "1"}, manifest);
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
}

}  // namespace
}  // namespace baleen::test
