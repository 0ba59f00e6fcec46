/// \file The main job on two hosts against the same job on one: equal losses, bit for bit, and no rank of another
/// host's.
#include <csignal>
#include <fstream>
#include <regex>

#include "parity/hosts/two_hosts_job.hpp"

namespace baleen::test {
namespace {

/// A number of the first record that has it.
double number_in(const std::string& file, const std::string& name) {
  std::ifstream lines(file);
  const std::regex pattern("\"" + name + "\":([0-9.e+]+)");
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, match, pattern)) return std::stod(match[1]);
  return 0;
}

TEST_F(TwoHostsOfTheMainJob, ComputeWhatOneComputesBitForBit) {
  const Losses one = alone();
  EXPECT_EQ(one.size(), 4u);
  for (const std::string& transport :
       {"[transport]\n" + network(), "[transport]\ninside = \"shm\"\n[transport.between]\n" + network()}) {
    const std::string file = folder / "two.jsonl", cluster = folder.write("two.toml", manifest(started(), transport));
    const ProcessResult two = run_process(run(0, cluster, file));
    EXPECT_EQ(two.exit_code, 0) << two.err;
    EXPECT_EQ(losses_in(file), one) << transport;
    for (const int index : {0, 1}) EXPECT_TRUE(networks.processes(index).empty()) << "left on host " << index;
  }
}

TEST_F(TwoHostsOfTheMainJob, MayBeStartedByHand) {
  const std::string secret = folder / "secret", file = folder / "two.jsonl";
  ASSERT_EQ(run_baleen({"secret", secret}).exit_code, 0);
  const std::string cluster = folder.write("two.toml", manifest(two_hosts("port = 7373\n")));
  RunningJob second(run(1, cluster, folder / "unused.jsonl", {"--host-index", "1", "--secret-file", secret}));
  RunningJob first(run(0, cluster, file, {"--host-index", "0", "--secret-file", secret}));
  EXPECT_EQ(first.ends(), 0) << first.err();
  EXPECT_EQ(second.ends(), 0) << second.err();
  EXPECT_EQ(second.out() + second.err(), "");
  EXPECT_EQ(losses_in(file).size(), 4u);
}

/// What TCP has carried from host 0 over the cable: frames without their headers (14 bytes of Ethernet, 20 of IP, 32 of
/// TCP with time stamps). A frame is as long as the sender made it: the cable cuts none.
double carried(const TwoNetworks& networks) {
  const auto count = [&](const std::string& what) {
    const std::string file = "/sys/class/net/" + std::string(TwoNetworks::kDevice) + "/statistics/tx_" + what;
    return std::stod(run_process(networks.on(0, {"cat", file})).out);
  };
  return count("bytes") - 66 * count("packets");
}

TEST_F(TwoHostsOfTheMainJob, AddInsideHostsFirst) {
  const std::string file = folder / "two.jsonl", one = folder / "one.jsonl";
  const std::string shm = "[cluster]\nhosts = [{ name = \"localhost\", ranks = 4 }]\n[mesh]\ndata = 4\n";
  const ProcessResult alone = run_process(run(0, folder.write("one.toml", shm), one));
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(losses_in(one).size(), 4u);
  const ProcessResult two = run_process(run(0, folder.write("two.toml", by_hosts(started())), file));
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(two.err.find("not by hosts first"), std::string::npos) << two.err;
  EXPECT_EQ(losses_in(file), losses_in(one));
}

// Each host sends its half of the sums once and the other half's results once: in all, all gradients once. Ranks that
// sum without regard to hosts would send them twice.
TEST_F(TwoHostsOfTheMainJob, SendGradientsOverTheCableOnce) {
  const std::string file = folder / "two.jsonl";
  const std::string manifest = folder.write("two.toml", by_hosts(started()));
  std::vector<double> sent = {carried(networks)};
  for (const int steps : {2, 12}) {
    const ProcessResult two = run_process(run(0, manifest, file, {}, steps));
    ASSERT_EQ(two.exit_code, 0) << two.err;
    sent.push_back(carried(networks));
  }
  const double per_step = ((sent[2] - sent[1]) - (sent[1] - sent[0])) / 10;
  const double gradients = 4 * number_in(file, "parameters");
  EXPECT_GT(gradients, 1e6);
  EXPECT_GE(per_step, gradients);
  EXPECT_LE(per_step, 1.02 * gradients);  // heads of messages, sums of losses and norms, heartbeats
}

}  // namespace
}  // namespace baleen::test
