/// \file The test program on two hosts with two ranks each, the first host starting the second.
#pragma once
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "fault/launch/rank_job.hpp"
#include "support/promise.hpp"
#include "support/running_job.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_networks.hpp"

namespace baleen::test {

/// Ranks 0 and 1 are on the first host, 2 and 3 on the second.
class TwoHosts : public testing::Test {
 protected:
  using seconds = std::chrono::seconds;
  using ProgressSnapshot = std::chrono::steady_clock::time_point;

  TwoHosts() = default;
  explicit TwoHosts(const TwoNetworks::Lay& lay) : networks(lay) {}

  void SetUp() override {
    if (!networks.missing().empty()) GTEST_SKIP() << networks.missing();
  }

  /// A network that could not be broken has shown nothing.
  void TearDown() override { EXPECT_TRUE(IsSkipped() || networks.missing().empty()) << networks.missing(); }

  std::string hosts() const {
    return networks.name(0) + "/2/" + TwoNetworks::address(0) + "," + networks.name(1) + "/2/" +
           TwoNetworks::address(1);
  }
  void start(const std::vector<std::string>& words) {
    std::vector<std::string> all = {hosts(), "start=ip netns exec {name} sh -c"};
    all.insert(all.end(), words.begin(), words.end());
    job = std::make_unique<RunningJob>(networks.on(0, rank_program(all)));
  }
  /// The same, each host started by hand; the first is `job`, the second `second`.
  void start_by_hand(const std::vector<std::string>& words) {
    const std::string secret = folder.write("secret", std::string(64, '7'));
    std::filesystem::permissions(secret, std::filesystem::perms::owner_read);
    for (const int host : {1, 0}) {
      std::vector<std::string> all = {hosts(), "secret=" + secret, "port=7373", "index=" + std::to_string(host)};
      all.insert(all.end(), words.begin(), words.end());
      (host == 0 ? job : second) = std::make_unique<RunningJob>(networks.on(host, rank_program(all)));
    }
  }
  /// Starts a job that works for ever, and waits until all ranks do.
  void start_working(std::vector<std::string> words = {}) {
    words.insert(words.end(), {"*:barrier:all", "*:pid", "*:work"});
    start(words);
    ASSERT_TRUE(job->prints("pid ", 4)) << job->out() << job->err();
  }
  /// The launcher of the second host.
  pid_t agent() const {
    for (const pid_t process : networks.processes(1)) {
      const std::string folder = "/proc/" + std::to_string(process) + "/";
      std::string words, name;
      std::getline(std::ifstream(folder + "cmdline"), words);
      std::getline(std::ifstream(folder + "comm"), name);
      if (name == "rank_program" && words.find("secret=-") != std::string::npos) return process;
    }
    return -1;
  }
  void hit(pid_t process, int signal) {
    ASSERT_GT(process, 0);
    since = std::chrono::steady_clock::now();
    ASSERT_EQ(::kill(process, signal), 0);
  }
  bool is_empty(int host) const {
    return holds_within(seconds(60), [&] { return networks.processes(host).empty(); });
  }
  /// What `strike` does to a job that `begin` started ends it as below, within the promised time from then. The cable
  /// is whole at the begin.
  void expect_end_within(std::chrono::milliseconds promise, const std::function<void()>& begin,
                         const std::function<void()>& strike, int code, const std::vector<std::string>& parts) {
    expect_kept(promise, [&] {
      networks.mend();
      begin();
      since = std::chrono::steady_clock::now();
      if (!HasFatalFailure()) strike();
      return networks.missing().empty() ? expect_end(code, parts) : 0;
    });
  }
  /// The job ends with this code and one line that holds all parts, besides what the second host's launcher may have
  /// to say; nothing is left. Returns the seconds since the last `hit` or strike.
  double expect_end(int code, const std::vector<std::string>& parts) {
    EXPECT_EQ(job->ends(), code) << job->out() << job->err();
    for (const int host : {0, 1}) EXPECT_TRUE(is_empty(host)) << "an orphan is left on host " << host;
    const double took = seconds_since(since);
    Lines lines = lines_of(job->err());
    std::erase_if(lines, [&](const std::string& line) {
      const bool reminds = line.starts_with("warning: ") && line.find("still waiting for") != std::string::npos;
      return reminds || line.starts_with("info: ") ||
             line.starts_with("[" + networks.name(1) + "] error: ");  // a busy machine may take long
    });
    EXPECT_EQ(lines.size(), parts.empty() ? 0u : 1u) << job->err();
    for (const std::string& part : parts)
      EXPECT_NE(lines.empty() ? std::string::npos : lines[0].find(part), std::string::npos) << job->err();
    return took;
  }

  TwoNetworks networks;
  const TemporaryFolder folder;
  std::unique_ptr<RunningJob> job, second;
  ProgressSnapshot since = std::chrono::steady_clock::now();
};

}  // namespace baleen::test
