/// \file Processes of two hosts that are killed, stopped, told to end: who is named, how soon, and what is left.
#include "two_hosts.hpp"

namespace baleen::test {
namespace {

// Until a launcher that is stopped is left: its silence, and what a rank that does not listen is given.
constexpr std::chrono::milliseconds kLeft{5'000 + 1'500};

class LostHosts : public TwoHosts {
 protected:
  /// The job works on both hosts when it happens.
  void expect_loss(std::chrono::milliseconds promise, const std::function<void()>& strike,
                   const std::vector<std::string>& parts) {
    expect_end_within(
        promise, [this] { start_working(); }, strike, 4, parts);
  }
  std::string other_host() const { return "error: host " + networks.name(1) + ": "; }
};

class EachRankOfTwoHosts : public LostHosts, public testing::WithParamInterface<int> {
 protected:
  std::string who() const {
    return "error: rank " + std::to_string(GetParam()) + " on " + networks.name(GetParam() / 2);
  }
  void hit_it(int signal) { hit(process_of(job->out(), GetParam()), signal); }
};
INSTANTIATE_TEST_SUITE_P(Ranks, EachRankOfTwoHosts, testing::Values(0, 3));

TEST_P(EachRankOfTwoHosts, IsNamedWhenItIsKilled) {
  expect_loss(seconds(3), [this] { hit_it(SIGKILL); }, {who(), ": killed by SIGKILL"});
}

TEST_P(EachRankOfTwoHosts, IsNamedWhenItIsStopped) {
  expect_loss(seconds(5), [this] { hit_it(SIGSTOP); }, {who(), ": stopped by a signal"});
}

TEST_F(LostHosts, AreNamedWhenTheirLauncherIsKilled) {
  expect_loss(seconds(3), [this] { hit(agent(), SIGKILL); }, {other_host() + "its launcher has ended (10.77.0.2:"});
}

TEST_F(LostHosts, AreNamedWhenTheirLauncherIsStopped) {
  expect_loss(kLeft, [this] { hit(agent(), SIGSTOP); }, {other_host() + "silent for 5", "was its launcher stopped?"});
}

TEST_F(LostHosts, LeaveALauncherThatIsStoppedThoughNobodyCanEndIt) {
  expect_kept(kLeft, [this] {
    start_by_hand({"*:barrier:all", "*:pid", "*:work"});
    EXPECT_TRUE(job->prints("pid ", 4)) << job->out() << job->err();
    hit(second->leader(), SIGSTOP);
    EXPECT_EQ(job->ends(), 4);
    EXPECT_NE(job->err().find(other_host() + "silent for 5"), std::string::npos) << job->err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return second->processes() == std::set<pid_t>{second->leader()}; }))
        << "ranks stay with a launcher that is stopped for good";
    const double took = seconds_since(since);
    second->kill(SIGCONT);
    EXPECT_EQ(second->ends(), 4);
    EXPECT_NE(second->err().find("error: the first host, " + networks.name(0)), std::string::npos) << second->err();
    return took;
  });
}

TEST_F(LostHosts, AreLeftByALauncherThatHardlyRuns) {
  start_working();
  const pid_t first = job->leader();
  hit(agent(), SIGSTOP);
  // Pauses of its own prove nothing, but they do not begin the silence anew either.
  int pauses = 0;
  for (; !networks.processes(0).empty() && pauses < 30; ++pauses) {
    ::kill(first, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1'300));
    ::kill(first, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  EXPECT_LT(pauses, 30);
  expect_end(4, {other_host() + "silent for 5"});
}

TEST_F(LostHosts, MayPauseForASecond) {
  start({"*:barrier:all", "*:pid", "*:work:4000"});
  ASSERT_TRUE(job->prints("pid ", 4)) << job->err();
  for (const pid_t launcher : {agent(), job->leader()}) {
    ASSERT_EQ(::kill(launcher, SIGSTOP), 0);
    std::this_thread::sleep_for(seconds(1));
    ASSERT_EQ(::kill(launcher, SIGCONT), 0);
  }
  expect_end(0, {});
}

TEST_F(LostHosts, AreNamedWhenTheirLauncherIsToldToEnd) {
  expect_loss(seconds(5), [this] { hit(agent(), SIGTERM); },
              {"error: ranks 2, 3 on " + networks.name(1), ": the launcher there was told to end by SIGTERM"});
}

TEST_F(LostHosts, LeaveNothingWhenTheFirstLauncherIsKilled) {
  expect_kept(seconds(5), [this] {
    start_working();
    hit(job->leader(), SIGKILL);
    EXPECT_EQ(job->ends(), 128 + SIGKILL);
    for (const int host : {0, 1}) EXPECT_TRUE(is_empty(host)) << "an orphan is left on host " << host;
    return seconds_since(since);
  });
}

TEST_F(LostHosts, LeaveAFirstLauncherThatIsStopped) {
  expect_kept(kLeft, [this] {
    start_working();
    hit(job->leader(), SIGSTOP);
    EXPECT_TRUE(is_empty(1)) << "the second host stays";
    const double took = seconds_since(since);
    ::kill(job->leader(), SIGCONT);
    EXPECT_EQ(job->ends(), 4) << job->err();
    EXPECT_NE(job->err().find(other_host() + "its launcher has ended"), std::string::npos) << job->err();
    EXPECT_TRUE(is_empty(0));
    return took;
  });
}

}  // namespace
}  // namespace baleen::test
