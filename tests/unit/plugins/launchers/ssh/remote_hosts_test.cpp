/// \file The first host among others that a test plays: who is let in, refused, lost.
#include "ssh/remote_hosts.hpp"

#include <gtest/gtest.h>

#include <future>
#include <list>
#include <thread>

#include "ssh/joining.hpp"
#include "ssh/listener.hpp"
#include "support/free_port.hpp"

namespace baleen::launchers {
namespace {

/// What happened, in words.
struct Record : HostEvents, LineSink {
  std::vector<std::string> events;
  void all_here() override { events.push_back("all here"); }
  void host_said(int host, Message& message) override {
    events.push_back("host " + std::to_string(host) + " said " + message.value);
  }
  void host_lost(int host, Error error) override {
    events.push_back("host " + std::to_string(host) + " lost: " + error.text());
  }
  void add(std::string_view) override {}
  bool is_full() const override { return false; }
};

class RemoteHostsTest : public testing::Test {
 protected:
  RemoteHostsTest() {
    options.meeting.secret = Secret::fresh();
    options.meeting.facts = "version 1\nmesh.data = 4\n";
    options.meeting.port = test::free_port();
  }
  void SetUp() override {
    sigset_t none;
    sigemptyset(&none);
    const Status status = first.open(none);
    ASSERT_TRUE(status) << status.error().text();
  }
  /// Shakes hands as that host.
  std::unique_ptr<HostLink> enter(int host) {
    ClusterOptions& own = others.emplace_back(options);
    own.host_index = host;
    auto link =
        std::async(std::launch::async, [&] { return join_first_host(own, larger, [] { return std::nullopt; }); });
    while (link.wait_for(std::chrono::seconds(0)) != std::future_status::ready) turn();
    return *link.get();
  }
  void join(HostLink& link, const std::string& facts) {
    link.send({MessageKind::join, 0, BALEEN_OK, kHostGreeting, facts});
  }
  void turn() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    first.turn(Clock::now());
  }
  /// Waits for so many events.
  std::vector<std::string> events(std::size_t count) {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (record.events.size() < count && Clock::now() < until) turn();
    return record.events;
  }
  /// What the first host says to this one.
  Message heard(HostLink& link) {
    const auto until = Clock::now() + std::chrono::minutes(1);
    while (Clock::now() < until) {
      turn();
      auto messages = link.serve(Clock::now());
      if (messages && !messages->empty()) return messages->front();
    }
    return {};
  }

  ClusterOptions options;
  std::list<ClusterOptions> others;
  Record record;
  const Topology topology{{{"a", 1, "127.0.0.1"}, {"b", 2, "127.0.0.1"}, {"c", 1, "127.0.0.1"}}};
  /// What somebody may take the cluster for.
  const Topology larger{{{"a", 1, "127.0.0.1"}, {"b", 2, "127.0.0.1"}, {"c", 1, "127.0.0.1"}, {"d", 1, "127.0.0.1"}}};
  RemoteHosts first{options, topology, record, record};
};

using Texts = std::vector<std::string>;

TEST_F(RemoteHostsTest, AreHereWhenAllHaveJoined) {
  EXPECT_EQ(first.missing(), "still waiting for ranks 1, 2, 3 (hosts b, c)");
  const auto b = enter(1);
  join(*b, options.meeting.facts);
  const auto c = enter(2);
  EXPECT_TRUE(record.events.empty());
  EXPECT_NE(first.missing().find("(host"), std::string::npos);
  join(*c, options.meeting.facts);
  EXPECT_EQ(events(1), Texts{"all here"});
  EXPECT_EQ(first.missing(), "");
}

TEST_F(RemoteHostsTest, WithOneIndexAreToldWhoIsThere) {
  const auto b = enter(1);
  join(*b, options.meeting.facts);
  const auto twin = enter(1);
  const Message refusal = heard(*twin);
  EXPECT_EQ(refusal.kind, MessageKind::refuse);
  EXPECT_TRUE(refusal.value.starts_with("host 1 (b) has joined already, from 127.0.0.1:")) << refusal.value;
}

TEST_F(RemoteHostsTest, WithAnIndexOfNobodyAreRefused) {
  for (const int host : {0, 3}) {
    const auto link = enter(host);
    const Message refusal = heard(*link);
    EXPECT_EQ(refusal.value, "there is no host of index " + std::to_string(host) +
                                 "; the manifest has 3, numbered from 0, and 0 is the first");
  }
}

TEST_F(RemoteHostsTest, WithAnotherManifestAreToldTheDifference) {
  const auto b = enter(1);
  join(*b, "version 1\nmesh.data = 5\n");
  const Message refusal = heard(*b);
  EXPECT_EQ(refusal.kind, MessageKind::refuse);
  EXPECT_EQ(refusal.value,
            "its manifest or version is another than the first host's: `mesh.data = 5` there and "
            "`mesh.data = 4` on the first host; every host needs the same");
  const auto again = enter(1);  // with the right one it may come back
  join(*again, options.meeting.facts + "compute.threads = 2\n");
  EXPECT_NE(heard(*again).value.find("`compute.threads = 2` there and no `compute.threads` on the first host"),
            std::string::npos);
}

/// A line that one has more moves no other one into its place.
TEST_F(RemoteHostsTest, WithAKeyTooFewAreToldThatKey) {
  options.meeting.facts = "version 1\ncompute.threads = 2\nmesh.data = 4\n";
  const auto b = enter(1);
  join(*b, "version 1\nmesh.data = 4\n");
  EXPECT_NE(heard(*b).value.find("than the first host's: no `compute.threads` there and `compute.threads = 2` on the "),
            std::string::npos);
  const auto c = enter(2);
  join(*c, "version 2\nmesh.data = 5\n");
  EXPECT_NE(heard(*c).value.find("`version 2` there and `version 1` on the first host"), std::string::npos);
}

TEST_F(RemoteHostsTest, MayLeaveAndComeBackBeforeTheStart) {
  auto b = enter(1);
  join(*b, options.meeting.facts);
  while (first.missing().find("(host c)") == std::string::npos) turn();
  b.reset();
  while (first.missing().find("(hosts b, c)") == std::string::npos) turn();
  EXPECT_TRUE(record.events.empty());
  const auto again = enter(1), c = enter(2);
  join(*again, options.meeting.facts);
  join(*c, options.meeting.facts);
  EXPECT_EQ(events(1), Texts{"all here"});
}

class RunningHostsTest : public RemoteHostsTest {
 protected:
  void SetUp() override {
    RemoteHostsTest::SetUp();
    b = enter(1);
    c = enter(2);
    join(*b, options.meeting.facts);
    join(*c, options.meeting.facts);
    ASSERT_EQ(events(1), Texts{"all here"});
  }
  std::unique_ptr<HostLink> b, c;
};

TEST_F(RunningHostsTest, SpeakForTheirRanks) {
  b->send({MessageKind::put, 0, BALEEN_OK, {}, "of 2", 2});
  EXPECT_EQ(events(2)[1], "host 1 said of 2");
  c->send({MessageKind::put, 0, BALEEN_OK, {}, "of 3", 3});
  EXPECT_EQ(events(3)[2], "host 2 said of 3");
}

TEST_F(RunningHostsTest, AreLostWhenTheySpeakForOthers) {
  b->send({MessageKind::put, 0, BALEEN_OK, {}, "of 3", 3});
  EXPECT_EQ(events(2)[1], "host 1 lost: it speaks for rank 3, which is on c");
  c->send({MessageKind::put, 0, BALEEN_OK, {}, "of 9", 9});
  EXPECT_EQ(events(3)[2], "host 2 lost: it speaks for rank 9, which is no rank of this job");
}

TEST_F(RunningHostsTest, AreLostWhenTheyGo) {
  b.reset();
  EXPECT_TRUE(events(2)[1].starts_with("host 1 lost: its launcher has ended (127.0.0.1:")) << record.events[1];
}

TEST_F(RunningHostsTest, MayGoWhenTheyAreExcused) {
  first.excuse(1);
  b.reset();
  c.reset();
  EXPECT_TRUE(events(2)[1].starts_with("host 2 lost: ")) << record.events[1];
  EXPECT_EQ(record.events.size(), 2u);
}

TEST_F(RunningHostsTest, AreLostWhenTheyFallSilent) {
  options.timeouts.heartbeat_timeout = std::chrono::milliseconds(300);
  // Neither of the two is served any more, so neither beats.
  EXPECT_TRUE(events(2)[1].starts_with("host 1 lost: silent for 0.3")) << record.events[1];
}

TEST_F(RunningHostsTest, AreDismissed) {
  first.dismiss({MessageKind::leave, 0, BALEEN_INVALID, {}, "the reason"});
  EXPECT_EQ(heard(*b).value, "the reason");
  EXPECT_EQ(heard(*c).code, BALEEN_INVALID);
  EXPECT_FALSE(first.is_over());
  b.reset();
  c.reset();
  const auto until = Clock::now() + std::chrono::minutes(1);
  while (!first.is_over() && Clock::now() < until) turn();
  EXPECT_TRUE(first.is_over());
  EXPECT_EQ(record.events.size(), 1u);
}

/// A first host that too many strangers knock at closes connections whose proof it has not read yet.
TEST(Joining, GoesOnWhereTheProofWasNotRead) {
  ClusterOptions options;
  options.meeting.secret = Secret::fresh();
  options.host_index = 1;
  auto listener =
      Listener::open(*TcpAddress::find("127.0.0.1", 0), options.meeting.secret, options.log, options.timeouts);
  ASSERT_TRUE(listener) << listener.error().text();
  const std::string at = listener->address().text();
  options.meeting.port = static_cast<std::uint16_t>(std::stoi(at.substr(at.rfind(':') + 1)));
  const Topology topology{{{"a", 1, "127.0.0.1"}, {"b", 1, "127.0.0.1"}}};
  auto joined =
      std::async(std::launch::async, [&] { return join_first_host(options, topology, [] { return std::nullopt; }); });
  std::unique_ptr<HostLink> link;
  int came = 0;
  const auto until = Clock::now() + std::chrono::minutes(1);
  while (joined.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready && Clock::now() < until) {
    for (auto& peer : listener->turn(Clock::now())) {
      EXPECT_EQ(peer.host, 1);
      if (++came > 2)
        link = std::make_unique<HostLink>(std::move(peer.socket), std::move(peer.session), options.timeouts);
    }
    if (link) (void)link->serve(Clock::now());
  }
  EXPECT_EQ(came, 3) << "two were closed without a word";
  const auto other = joined.get();
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_FALSE((*other)->is_over(Clock::now()));
}

}  // namespace
}  // namespace baleen::launchers
