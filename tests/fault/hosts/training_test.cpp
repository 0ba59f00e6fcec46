/// \file A real training on two hosts, over a network: what a user sees when a rank, a host or the cable is lost.
#include "two_hosts.hpp"

namespace baleen::test {
namespace {

class TrainingOnTwoHosts : public TwoHosts {
 protected:
  void SetUp() override {
    TwoHosts::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists(BALEEN_BUILD_DIR "/lib/baleen/plugins/baleen_transport_ucx.so"))
      GTEST_SKIP() << "no transport that reaches between hosts was built (libucx-dev)";
    const auto host = [&](int index) {
      return "{ name = \"" + networks.name(index) + "\", ranks = 2, address = \"" + TwoNetworks::address(index) +
             "\" }";
    };
    const std::string cluster =
        folder.write("two.toml", "[cluster]\nhosts = [" + host(0) + ", " + host(1) +
                                     "]\nstart = [\"ip\", \"netns\", \"exec\", \"{name}\", \"sh\", \"-c\"]\n"
                                     "[mesh]\ndata = 4\n[[plan]]\nstrategy = \"data\"\n[transport]\ninside = \"shm\"\n"
                                     "between = { plugin = \"ucx\", tls = [\"tcp\"], devices = [\"cable\"] }\n");
    job = std::make_unique<RunningJob>(
        networks.on(0, {BALEEN_BUILD_DIR "/bin/baleen", "run", BALEEN_SOURCE_DIR "/examples/01_hello/train.lua",
                        "--manifest", cluster, "--steps", "1000000000"}));
    ASSERT_TRUE(job->prints("step 1/")) << job->err();
    since = std::chrono::steady_clock::now();
  }
  /// By the name that it gives itself.
  pid_t process_called(int host, const std::string& wanted) const {
    for (const pid_t process : networks.processes(host)) {
      std::string name;
      std::getline(std::ifstream("/proc/" + std::to_string(process) + "/comm"), name);
      if (name == wanted) return process;
    }
    return -1;
  }
};

TEST_F(TrainingOnTwoHosts, EndsWhenARankIsKilled) {
  hit(process_called(1, "baleen rank 3"), SIGKILL);
  expect_end(4, seconds(5),
             {"error: rank 3 on " + networks.name(1) + ", step ", ", training, collective ", ": killed by SIGKILL"});
}

TEST_F(TrainingOnTwoHosts, EndsWhenARankIsStopped) {
  hit(process_called(1, "baleen rank 2"), SIGSTOP);
  expect_end(4, seconds(7), {"error: rank 2 on " + networks.name(1), ": stopped by a signal"});
}

TEST_F(TrainingOnTwoHosts, EndsWhenALauncherIsKilled) {
  hit(process_called(1, "baleen"), SIGKILL);
  expect_end(4, seconds(5), {"error: host " + networks.name(1) + ": its launcher has ended"});
}

TEST_F(TrainingOnTwoHosts, EndsWhenTheCableIsCut) {
  networks.cut_cable();
  expect_end(4, seconds(10), {"error: host " + networks.name(1) + ": the connection broke: "});
}

TEST_F(TrainingOnTwoHosts, EndsByASignalAsOneProcessDoes) {
  job->kill(SIGINT);
  expect_end(128 + SIGINT, seconds(10), {});
}

}  // namespace
}  // namespace baleen::test
