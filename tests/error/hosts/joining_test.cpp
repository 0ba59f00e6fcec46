/// \file Hosts that do not fit together, and what each side says.
#include "hosts_run.hpp"

namespace baleen::test {
namespace {

TEST_F(Hosts, RunWhereNothingIsWrong) {
  const auto first = host(0, {"*:barrier:all", "*:place"}), second = host(1, {"*:barrier:all", "*:place"});
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(second->ends(), 0) << second->err();
  EXPECT_NE(first->out().find("[rank 2] rank 2 of 3, 1 of 2 on b"), std::string::npos) << first->out();
  EXPECT_EQ(first->err() + second->err() + second->out(), "");
}

TEST_F(Hosts, ThatNeverComeAreNamed) {
  const auto first = host(0, {"remind=100", "arrive=1000", "*:place"});
  expect_end(*first, 4, "error: gave up after 1");
  EXPECT_NE(first->err().find("warning: still waiting for ranks 1, 2 (host b) to join (0.1"), std::string::npos)
      << first->err();
  EXPECT_NE(first->err().find("to join (0.4"), std::string::npos) << first->err();
  EXPECT_EQ(first->out(), "");
}

TEST_F(Hosts, WaitForTheFirstOne) {
  const auto second = host(1, {"remind=100", "arrive=1000"});
  const std::string waiting = "still waiting for the first host, a: " + at_port() + ": Connection refused";
  EXPECT_EQ(second->ends(), 4);
  EXPECT_NE(second->err().find("warning: " + waiting), std::string::npos) << second->err();
  EXPECT_NE(second->err().find("error: gave up after 1"), std::string::npos) << second->err();
  const auto late = host(1), first = host(0, {"*:print:here"});
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(late->ends(), 0) << late->err();
}

TEST_F(Hosts, WithAnotherSecretAreRefused) {
  const auto first = host(0, {"*:place"});
  const auto stranger = host(1, {"secret=" + secret_file("other", std::string(64, '6'))});
  expect_end(*stranger, 2,
             "error: the first host, a (" + at_port() + "): it knows another secret; give every host the same one");
  EXPECT_TRUE(says(*first, "warning: a host at 127.0.0.2:")) << first->err();
  EXPECT_TRUE(says(*first, "wants to join but does not know the job's secret")) << first->err();
  const auto right = host(1, {"*:place"});
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(first->err().find("666666"), std::string::npos);
  EXPECT_EQ(first->err().find("555555"), std::string::npos);
}

TEST_F(Hosts, WithOneIndexAreToldSo) {
  const std::string three = "a/1/127.0.0.1,b/1/127.0.0.2,c/1/127.0.0.3";
  const auto first = host(0, {}, three), second = host(1, {}, three);
  // Whoever of the two comes second is refused.
  const auto twin = host(1, {}, three);
  ASSERT_TRUE(holds_within(seconds(60), [&] {
    second->prints("never", 1, std::chrono::milliseconds(2));
    twin->prints("never", 1, std::chrono::milliseconds(2));
    return !(second->err() + twin->err()).empty();
  }));
  const std::string told = second->err() + twin->err();
  EXPECT_NE(told.find("error: the first host, a (" + at_port() +
                      "), refuses this host: host 1 (b) has joined already, from 127.0.0.2:"),
            std::string::npos)
      << told;
  EXPECT_NE(told.find("; every host needs a --host-index of its own"), std::string::npos) << told;
  const auto third = host(2, {}, three);
  EXPECT_EQ(first->ends(), 0) << first->err();
}

TEST_F(Hosts, WithAnotherManifestAreToldTheDifference) {
  const auto first = host(0, {"facts=mesh.data = 3"});
  const auto second = host(1, {"facts=mesh.data = 4"});
  expect_end(
      *second, 2,
      "error: the first host, a (" + at_port() +
          "), refuses this host: its manifest or version is another than the first host's: `mesh.data = 4` there "
          "and `mesh.data = 3` on the first host; every host needs the same");
  EXPECT_TRUE(says(*first, "that wants to be number 1: its manifest or version is another")) << first->err();
  const auto right = host(1, {"facts=mesh.data = 3"});
  EXPECT_EQ(first->ends(), 0) << first->err();
}

TEST_F(Hosts, WithAnIndexBeyondTheManifestAreRefused) {
  const auto first = host(0);
  const auto stranger = host(2, {}, "a/1/127.0.0.1,b/2/127.0.0.2,c/1/127.0.0.3");
  EXPECT_EQ(stranger->ends(), 2);
  EXPECT_NE(stranger->err().find("there is no host of index 2; the manifest has 2, numbered from 0"), std::string::npos)
      << stranger->err();
  const auto right = host(1);
  EXPECT_EQ(first->ends(), 0) << first->err();
}

TEST_F(Hosts, OnTheWrongMachineAreToldSo) {
  const std::string hosts = "a/1/127.0.0.1,b/2/203.0.113.7";
  const auto second = host(1, {}, hosts);
  expect_end(*second, 2,
             "error: the address of host 1 (b), 203.0.113.7, is none of this machine; is its --host-index right?");
  const auto first = host(0, {}, "a/1/203.0.113.7,b/2/127.0.0.1");
  expect_end(*first, 2, "error: cannot listen at 203.0.113.7:" + std::to_string(port));
  EXPECT_NE(first->err().find("it is no address of this machine, which should be the first of the manifest's hosts"),
            std::string::npos)
      << first->err();
}

TEST_F(Hosts, OnATakenPortAreToldByWhom) {
  const auto first = host(0, {"*:print:here"});
  close(connect_to_port());
  const auto second = host(0);
  expect_end(*second, 2, "error: cannot listen at " + at_port() + ": Address already in use; job ");
  EXPECT_NE(second->err().find(" is there. End it, or give this cluster another `port`"), std::string::npos)
      << second->err();
  const auto other = host(1);
  EXPECT_EQ(first->ends(), 0) << first->err();
}

TEST_F(Hosts, ThatLeaveBeforeTheStartMayComeBack) {
  const std::string three = "a/1/127.0.0.1,b/1/127.0.0.2,c/1/127.0.0.3";
  const auto first = host(0, {"*:print:here"}, three);
  const auto leaving = host(1, {}, three);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  leaving->kill(SIGTERM);
  EXPECT_EQ(leaving->ends(), 128 + SIGTERM);
  const auto second = host(1, {"*:print:here"}, three), third = host(2, {"*:print:here"}, three);
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(second->ends(), 0) << second->err();
  EXPECT_NE(first->out().find("[rank 2] here"), std::string::npos) << first->out();
}

TEST_F(Hosts, TellTheReasonEverywhere) {
  const std::vector<std::string> words = {"2:fail:bad value", "*:work"};
  const auto first = host(0, words), second = host(1, words);
  expect_end(*first, 2, "error: rank 2 on b: script.lua:3:5: bad value");
  expect_end(*second, 2, "error: rank 2 on b: script.lua:3:5: bad value");
}

/// The first launcher does not run while every rank ends, and hears of all in one turn.
TEST_F(Hosts, TellTheReasonThoughAllHaveEnded) {
  const std::vector<std::string> words = {"*:print:here", "*:sleep:400", "2:fail:bad value", "*:lost"};
  const auto first = host(0, words), second = host(1, words);
  ASSERT_TRUE(first->prints("here", 3)) << first->err();
  first->kill(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  first->kill(SIGCONT);
  expect_end(*first, 2, "error: rank 2 on b: script.lua:3:5: bad value");
  expect_end(*second, 2, "error: rank 2 on b: script.lua:3:5: bad value");
}

/// Whichever rank is first: the others have the time to say the same.
TEST_F(Hosts, NameNoRankWhereAllMakeOneMistake) {
  const std::vector<std::string> words = {"1:sleep:80", "2:sleep:80", "1:put:one=1", "2:put:two=2", "*:fail:bad value"};
  const auto first = host(0, words), second = host(1, words);
  expect_end(*first, 2, "error: script.lua:3:5: bad value");
  expect_end(*second, 2, "error: script.lua:3:5: bad value");
}

TEST_F(Hosts, NeedProcessorsThatTheyHave) {
  const auto first = host(0, {"*:work"}), second = host(1, {"cpus=4000"});
  const std::string told =
      "error: host b: `4000` names processor 4000, which this host lacks or this process may not use";
  expect_end(*first, 2, told);
  expect_end(*second, 2, told);
}

}  // namespace
}  // namespace baleen::test
