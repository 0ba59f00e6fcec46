/// \file Processes of two hosts that are killed, stopped, told to end: who is named, how soon, and what is left.
#include "two_hosts.hpp"

namespace baleen::test {
namespace {

class EachRankOfTwoHosts : public TwoHosts, public testing::WithParamInterface<int> {
 protected:
  std::string who() const {
    return "error: rank " + std::to_string(GetParam()) + " on " + networks.name(GetParam() / 2);
  }
};
INSTANTIATE_TEST_SUITE_P(Ranks, EachRankOfTwoHosts, testing::Values(0, 3));

TEST_P(EachRankOfTwoHosts, IsNamedWhenItIsKilled) {
  start_working();
  hit(process_of(job->out(), GetParam()), SIGKILL);
  expect_end(4, seconds(3), {who(), ": killed by SIGKILL"});
}

TEST_P(EachRankOfTwoHosts, IsNamedWhenItIsStopped) {
  start_working();
  hit(process_of(job->out(), GetParam()), SIGSTOP);
  expect_end(4, seconds(5), {who(), ": stopped by a signal"});
}

TEST_F(TwoHosts, NameTheOtherWhenItsLauncherIsKilled) {
  start_working();
  hit(agent(), SIGKILL);
  expect_end(4, seconds(3), {"error: host " + networks.name(1) + ": its launcher has ended (10.77.0.2:"});
}

TEST_F(TwoHosts, NameTheOtherWhenItsLauncherIsStopped) {
  start_working();
  hit(agent(), SIGSTOP);
  expect_end(4, seconds(12), {"error: host " + networks.name(1) + ": silent for 5", "was its launcher stopped?"});
}

TEST_F(TwoHosts, LeaveALauncherThatIsStoppedThoughNobodyCanEndIt) {
  start_by_hand({"*:barrier:all", "*:pid", "*:work"});
  ASSERT_TRUE(job->prints("pid ", 4)) << job->out() << job->err();
  hit(second->leader(), SIGSTOP);
  EXPECT_EQ(job->ends(), 4);
  EXPECT_NE(job->err().find("error: host " + networks.name(1) + ": silent for 5"), std::string::npos) << job->err();
  EXPECT_TRUE(holds_within(seconds(60), [&] { return second->processes() == std::set<pid_t>{second->leader()}; }))
      << "ranks stay with a launcher that is stopped for good";
  EXPECT_LT(std::chrono::steady_clock::now() - since, seconds(30));  // a busy machine; 5 on an idle one
  second->kill(SIGCONT);
  EXPECT_EQ(second->ends(), 4);
  EXPECT_NE(second->err().find("error: the first host, " + networks.name(0)), std::string::npos) << second->err();
}

TEST_F(TwoHosts, BearAPauseOfALauncher) {
  start({"*:barrier:all", "*:pid", "*:work:4000"});
  ASSERT_TRUE(job->prints("pid ", 4)) << job->err();
  for (const pid_t launcher : {agent(), job->leader()}) {
    ASSERT_EQ(::kill(launcher, SIGSTOP), 0);
    std::this_thread::sleep_for(seconds(1));
    ASSERT_EQ(::kill(launcher, SIGCONT), 0);
  }
  expect_end(0, seconds(60), {});
}

TEST_F(TwoHosts, NameTheOtherWhenItsLauncherIsToldToEnd) {
  start_working();
  hit(agent(), SIGTERM);
  expect_end(4, seconds(5),
             {"error: ranks 2, 3 on " + networks.name(1), ": the launcher there was told to end by SIGTERM"});
}

TEST_F(TwoHosts, LeaveNothingWhenTheFirstLauncherIsKilled) {
  start_working();
  hit(job->leader(), SIGKILL);
  EXPECT_EQ(job->ends(), 128 + SIGKILL);
  for (const int host : {0, 1}) EXPECT_TRUE(is_empty(host)) << "an orphan is left on host " << host;
  EXPECT_LT(std::chrono::steady_clock::now() - since, seconds(5));
}

TEST_F(TwoHosts, LeaveAFirstLauncherThatIsStopped) {
  start_working();
  hit(job->leader(), SIGSTOP);
  EXPECT_TRUE(is_empty(1)) << "the second host stays";
  EXPECT_LT(std::chrono::steady_clock::now() - since, seconds(30));  // a busy machine; 5 on an idle one
  ::kill(job->leader(), SIGCONT);
  EXPECT_EQ(job->ends(), 4) << job->err();
  EXPECT_NE(job->err().find("error: host " + networks.name(1) + ": its launcher has ended"), std::string::npos)
      << job->err();
  EXPECT_TRUE(is_empty(0));
}

}  // namespace
}  // namespace baleen::test
