/// \file Checkpoints of two hosts in one folder that both see, and of two that do not see one.
#include <nlohmann/json.hpp>

#include "parity/checkpoint/checkpointed_run.hpp"
#include "parity/hosts/two_hosts_job.hpp"

namespace baleen::test {
namespace {

struct CheckpointsOfTwoHosts : TwoHostsOfTheMainJob {
  /// Started on the first host.
  ProcessResult train(const std::string& cluster, const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{build_dir() + "/bin/baleen",
                                   "run",
                                   source_dir() + "/tests/parity/checkpoint/model.lua",
                                   "--manifest",
                                   cluster,
                                   "--set",
                                   "checkpoint.folder=" + folder / name,
                                   "--set",
                                   "checkpoint.every=4",
                                   "--set",
                                   "checkpoint.keep=0"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--data", source_dir() + "/tests/golden/whales.txt"});
    return run_process(networks.on(0, words));
  }
};

TEST_F(CheckpointsOfTwoHosts, AreGoneOnFromInTheSameBitsOnTwoHostsAndOnOne) {
  const std::string two = folder.write("two.toml", manifest(started()));
  const std::string one = folder.write("one.toml", manifest("hosts = [{ name = \"localhost\", ranks = 4 }]\n"));
  const ProcessResult first = train(two, "whole");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const std::string half = folder / "whole/step-000000004", state = state_of(folder / "whole");
  EXPECT_NE(state_of(half), state);
  for (const auto& [name, cluster] : {std::pair("on_two", two), std::pair("on_one", one)}) {
    const ProcessResult again = train(cluster, name, {"--resume", half});
    ASSERT_EQ(again.exit_code, 0) << name << ": " << again.err;
    EXPECT_NE(again.err.find("after step 4"), std::string::npos) << again.err;
    EXPECT_EQ(state_of(folder / name), state) << name;
  }
  // Each rank has written: none of another host's.
  EXPECT_TRUE(std::filesystem::exists(half + "/index.baleen.json"));
  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::directory_iterator(half))
    if (entry.path().extension() == ".safetensors") ++shards;
  EXPECT_EQ(shards, 4u);
}

/// The second host has another disk at that place.
TEST_F(CheckpointsOfTwoHosts, AreRefusedAtTheStartInAFolderOfOneHostAlone) {
  std::filesystem::create_directory(folder / "kept");
  const std::string start =
      folder.write("start.sh", "host=$1\nshift\nexec ip netns exec \"$host\" unshare -m sh -c 'mount -t tmpfs none \"" +
                                   folder / "kept" + "\" && exec sh -c \"$0\"' \"$@\"\n");
  const std::string cluster =
      folder.write("two.toml", manifest(two_hosts("start = [\"sh\", \"" + start + "\", \"{name}\"]\n")));
  const ProcessResult result = train(cluster, "kept");
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_NE(
      result.err.find("rank 2 does not see the folder of checkpoints that rank 0 has made; all hosts need one file "
                      "system for it: set `folder` to a place that they share"),
      std::string::npos)
      << result.err;
  EXPECT_EQ(result.out.find("step 1/"), std::string::npos) << "nothing has been trained: " << result.out;
}

}  // namespace
}  // namespace baleen::test
