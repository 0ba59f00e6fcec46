/// \file The main job on two hosts of two ranks each.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>

#include "support/losses.hpp"
#include "support/running_job.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_networks.hpp"

namespace baleen::test {

class TwoHostsOfTheMainJob : public testing::Test {
 protected:
  void SetUp() override {
    if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
    if (!std::filesystem::exists(build_dir() + "/lib/baleen/plugins/baleen_transport_ucx.so"))
      GTEST_SKIP() << "no transport that reaches between hosts was built (libucx-dev)";
  }
  static std::string network() {
    return std::string("plugin = \"ucx\"\ntls = [\"tcp\"]\ndevices = [\"") + TwoNetworks::kDevice + "\"]\n";
  }
  static std::string manifest(const std::string& cluster, const std::string& transport = "[transport]\n" + network()) {
    return "[cluster]\n" + cluster +
           "[mesh]\ndata = 2\ntensor = 2\norder = [\"data\", \"tensor\"]\n"
           "[[plan]]\nstrategy = \"data\"\n[[plan]]\nstrategy = \"tensor\"\nmode = \"1d\"\n" +
           transport;
  }
  /// Four ranks that share the batch; inside of a host by shared memory, between hosts over the cable.
  std::string by_hosts(const std::string& cluster) const {
    return "[cluster]\n" + cluster + "[mesh]\ndata = 4\n[transport]\ninside = \"shm\"\n[transport.between]\n" +
           network();
  }
  std::string host(int index) const {
    return "{ name = \"" + networks.name(index) + "\", ranks = 2, address = \"" + TwoNetworks::address(index) + "\" }";
  }
  std::string two_hosts(const std::string& more) const { return "hosts = [" + host(0) + ", " + host(1) + "]\n" + more; }
  std::string started() const {
    return two_hosts("start = [\"ip\", \"netns\", \"exec\", \"{name}\", \"sh\", \"-c\"]\n");
  }
  /// On host `index`; what the run says of its steps goes to the file.
  std::vector<std::string> run(int index, const std::string& cluster, const std::string& losses,
                               const std::vector<std::string>& more = {}, int steps = 4) const {
    std::vector<std::string> words = {build_dir() + "/bin/baleen",
                                      "run",
                                      source_dir() + "/examples/02_gpt/train.lua",
                                      "--manifest",
                                      cluster,
                                      "--steps",
                                      std::to_string(steps),
                                      "--log-json",
                                      losses};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"--", "--data", source_dir() + "/plugins/launchers/common"});
    return networks.on(index, words);
  }
  /// What one host alone computes.
  Losses alone() const {
    const std::string file = folder / "one.jsonl";
    const std::string cluster = folder.write("one.toml", manifest("hosts = [{ name = \"localhost\", ranks = 4 }]\n"));
    const ProcessResult one = run_process(run(0, cluster, file));
    EXPECT_EQ(one.exit_code, 0) << one.err;
    return losses_in(file);
  }

  TwoNetworks networks;
  const TemporaryFolder folder;
};

}  // namespace baleen::test
