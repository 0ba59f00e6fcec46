/// \file The first cause among many events, and its words.
#include "common/first_cause.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace baleen::launchers {
namespace {

Failure own(const std::string& text) { return {invalid(text, "a.lua:1:2"), {}}; }
Failure lost() { return {{BALEEN_PEER_LOST, "a peer is lost", {}}, {}}; }

std::string told(const FirstCause& cause) {
  const Outcome outcome = cause.outcome();
  return outcome.status ? "good" : outcome.status.error().text();
}

TEST(FirstCause, IsNoneInAGoodRun) {
  const FirstCause cause(Topology(3));
  EXPECT_FALSE(cause.any());
  EXPECT_EQ(told(cause), "good");
}

TEST(FirstCause, NamesTheRankWithWhatItDid) {
  FirstCause cause(Topology(3));
  cause.failed(1, {invalid("bad value", "a.lua:1:2"), {12, "backward", 7}});
  EXPECT_EQ(told(cause), "rank 1, step 12, backward, collective 7 begun: a.lua:1:2: bad value");
  EXPECT_EQ(cause.outcome().status.error().code, BALEEN_INVALID);
}

TEST(FirstCause, TellsHowFarAllWereWhoFailedAlike) {
  FirstCause cause(Topology(2));
  cause.failed(1, {invalid("bad value", "a.lua:1:2"), {12, "training", 7}});
  cause.failed(0, {invalid("bad value", "a.lua:1:2"), {12, "evaluating", 7}});
  EXPECT_EQ(told(cause), "step 12, collective 7 begun: a.lua:1:2: bad value");
}

TEST(FirstCause, BringsTheRecordOfItsRankAlone) {
  FirstCause cause(Topology(3));
  for (const int rank : {2, 1}) {
    Failure failure = own("fails on rank " + std::to_string(rank));
    failure.recorded.push_back("of rank " + std::to_string(rank));
    cause.failed(rank, failure);
  }
  EXPECT_EQ(cause.outcome().recorded, std::vector<std::string>{"of rank 2"});
}

TEST(FirstCause, NamesAHostThatIsNotThisOne) {
  FirstCause cause(Topology({{"node7", 3}}));
  cause.killed(2, SIGKILL, {});
  EXPECT_EQ(cause.reason().substr(0, 36), "rank 2 on node7: killed by SIGKILL; ");
}

TEST(FirstCause, NamesTheHostsOfItsRanks) {
  FirstCause cause(Topology({{"a", 2}, {"b", 2}}));
  cause.failed(1, own("same"));
  EXPECT_EQ(told(cause), "rank 1 on a: a.lua:1:2: same");
  cause.failed(2, own("same"));
  EXPECT_EQ(told(cause), "ranks 1, 2 on hosts a, b: a.lua:1:2: same");
}

TEST(FirstCause, MayBeAHost) {
  FirstCause cause(Topology({{"a", 2}, {"b", 2}}));
  cause.failed(0, lost());
  cause.lost_host(1, {BALEEN_PEER_LOST, "closed the connection", {}});
  cause.failed(1, lost());
  EXPECT_EQ(told(cause), "host b: closed the connection");
  EXPECT_EQ(cause.outcome().status.error().code, BALEEN_PEER_LOST);
  EXPECT_EQ(cause.outcome().exit_code, -1);
  EXPECT_EQ(cause.consequences(), std::vector<std::string>{"a consequence: ranks 0, 1 on a: a peer is lost"});
}

TEST(FirstCause, MayBeOfNobodyInParticular) {
  FirstCause cause(Topology({{"a", 2}, {"b", 2}}));
  cause.lost_host(-1, {BALEEN_TIMEOUT, "gave up", {}});
  EXPECT_EQ(told(cause), "gave up");
}

TEST(FirstCause, ComesFirst) {
  FirstCause cause(Topology(3));
  cause.failed(1, own("first"));
  cause.failed(2, own("second"));
  EXPECT_EQ(told(cause), "rank 1: a.lua:1:2: first");
  EXPECT_EQ(cause.consequences(), std::vector<std::string>{"a consequence: rank 2: a.lua:1:2: second"});
}

TEST(FirstCause, IsNotALostPeerIfAnythingElseHappened) {
  FirstCause cause(Topology(3));
  cause.failed(0, lost());
  EXPECT_EQ(told(cause), "rank 0: a peer is lost");
  cause.killed(2, SIGTERM, {3, "", -1});
  cause.failed(1, lost());
  EXPECT_EQ(told(cause), "rank 2, step 3: killed by SIGTERM");
  EXPECT_EQ(cause.outcome().status.error().code, BALEEN_PEER_LOST);
  EXPECT_EQ(cause.consequences(), std::vector<std::string>{"a consequence: ranks 0, 1: a peer is lost"});
}

TEST(FirstCause, IsSaidOnceForAllWhoFailAlike) {
  FirstCause cause(Topology(3));
  cause.failed(2, own("same"));
  cause.failed(0, own("same"));
  EXPECT_EQ(told(cause), "ranks 0, 2: a.lua:1:2: same");
  cause.failed(1, own("same"));
  EXPECT_EQ(told(cause), "a.lua:1:2: same");
  EXPECT_EQ(cause.outcome().status.error().where, "a.lua:1:2");
  EXPECT_TRUE(cause.consequences().empty());
}

TEST(FirstCause, IsOurBugWhenARankCrashes) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    FirstCause cause(Topology(2));
    cause.killed(1, signal, {});
    EXPECT_EQ(cause.outcome().status.error().code, BALEEN_INTERNAL) << signal;
  }
}

TEST(FirstCause, IsNoCrashWhereAPeerWasEndedFromOutside) {
  const Topology topology({{"a", 2}, {"b", 2}});
  FirstCause killed(topology);
  killed.failed(3, lost());
  killed.killed(2, SIGABRT, {});
  EXPECT_EQ(told(killed), "rank 2 on b: crashed: killed by SIGABRT") << "nothing else has happened yet";
  killed.killed(1, SIGTERM, {7, "", -1});
  EXPECT_EQ(told(killed), "rank 1 on a, step 7: killed by SIGTERM");
  EXPECT_EQ(killed.outcome().status.error().code, BALEEN_PEER_LOST);
  EXPECT_EQ(killed.consequences(),
            (std::vector<std::string>{"a consequence: rank 3 on b: a peer is lost",
                                      "a consequence: rank 2 on b: crashed: killed by SIGABRT"}));
  FirstCause host(topology);
  host.killed(0, SIGSEGV, {});
  host.lost_host(1, {BALEEN_PEER_LOST, "closed the connection", {}});
  EXPECT_EQ(told(host), "host b: closed the connection");
  FirstCause ended(topology);
  ended.killed(0, SIGABRT, {});
  ended.told_to_end(1, SIGINT);
  EXPECT_EQ(ended.outcome().signal, SIGINT);
}

TEST(FirstCause, IsTheCrashWhereOthersOnlyFollowed) {
  FirstCause cause(Topology(4));
  cause.failed(0, lost());
  cause.killed(2, SIGSEGV, {});
  cause.failed(1, own("the connection broke"));
  cause.exited(3, 9, {});
  EXPECT_EQ(told(cause), "rank 2: crashed: killed by SIGSEGV");
}

TEST(FirstCause, KeepsTheExitCodeOfItsRank) {
  FirstCause cause(Topology(3));
  cause.failed(1, own("x"));
  cause.exited(2, 9, {});
  EXPECT_EQ(cause.outcome().exit_code, -1) << "rank 1 has not ended yet";
  cause.exited(1, 2, {});
  EXPECT_EQ(cause.outcome().exit_code, 2);
  EXPECT_EQ(told(cause), "rank 1: a.lua:1:2: x");
}

TEST(FirstCause, IsAnExitWithoutAWord) {
  FirstCause cause(Topology(3));
  cause.exited(1, 7, {});
  EXPECT_EQ(told(cause), "rank 1: ended with exit code 7 without saying why");
  EXPECT_EQ(cause.outcome().exit_code, 7);
  FirstCause starved(Topology(3));
  starved.exited(1, 3, {});
  EXPECT_EQ(told(starved), "rank 1: ended with exit code 3, which says that memory ran out");
  EXPECT_EQ(starved.outcome().status.error().code, BALEEN_NO_MEMORY);
  FirstCause early(Topology(3));
  early.exited(1, 0, {});
  EXPECT_EQ(told(early), "rank 1: ended with exit code 0 before its work was done");
  EXPECT_EQ(early.outcome().exit_code, -1);
}

TEST(FirstCause, MayBeASignalThatTheLauncherPassedOn) {
  FirstCause cause(Topology(2));
  cause.failed(0, lost());
  cause.told_to_end(1, SIGINT);
  EXPECT_EQ(told(cause), "good");
  EXPECT_EQ(cause.outcome().signal, SIGINT);
}

TEST(SignalName, IsTheUsualOne) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGRTMAX), "signal " + std::to_string(SIGRTMAX));
}

}  // namespace
}  // namespace baleen::launchers
