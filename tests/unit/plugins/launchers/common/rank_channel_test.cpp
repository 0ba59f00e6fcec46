/// \file A rank's end of the channel, against a launcher played by the test.
#include "common/rank_channel.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <future>
#include <thread>

#include "fake_launcher.hpp"

namespace baleen::launchers {
namespace {

using std::chrono::milliseconds;

Message abort_message(const std::string& why) { return {MessageKind::abort, 0, BALEEN_PEER_LOST, {}, why}; }

/// Waits until the link has heard of it.
void wait_for_abort(const RankChannel& link) {
  while (link.state()) std::this_thread::sleep_for(milliseconds(1));
}

TEST(RankChannel, LearnsItsPlace) {
  FakeLauncher launcher({3, 8, 1, 4, "node7", 5});
  EXPECT_EQ(launcher.link()->place(), (Place{3, 8, 1, 4, "node7", 5}));
}

TEST(RankChannel, RefusesWhatIsNoLauncher) {
  for (const std::string bad : {"", "x", "-1", "0", "2", "5x", "1000", "99999999999"}) {
    const auto link = RankChannel::inherited(bad);
    ASSERT_FALSE(link) << bad;
    EXPECT_EQ(link.error().code, BALEEN_INVALID);
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[1]);
  EXPECT_FALSE(RankChannel::over(ends[0]));
  close(ends[0]);
}

TEST(RankChannel, RefusesAnotherVersion) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const std::string frame = to_frame({MessageKind::welcome, 0, BALEEN_OK, "baleen ranks 0", to_bytes(Place{})});
  ASSERT_EQ(write(ends[0], frame.data(), frame.size()), static_cast<ssize_t>(frame.size()));
  EXPECT_FALSE(RankChannel::over(ends[1]));
  close(ends[0]);
  close(ends[1]);
}

TEST(RankChannel, BeatsWhileTheRankIsBusy) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  for (int i = 0; i < 4; ++i) launcher.hear(MessageKind::beat);  // this thread calls nothing of the link
}

TEST(RankChannel, TellsHowFarItIs) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  link->at(12, "backward");
  ProgressSnapshot moment;
  while (moment.step != 12) moment = *moment_from(launcher.hear(MessageKind::beat).value);
  EXPECT_EQ(moment.phase, "backward");
}

TEST(RankChannel, TellsHowMuchItReadsAndWrites) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  const auto said = [&] { return moment_from(launcher.hear(MessageKind::beat).value)->passed; };
  const std::uint64_t before = said();
  std::ofstream nowhere("/dev/null", std::ios::binary);
  const std::string piece(ProgressSnapshot::kPassedUnit / 16, 'x');
  for (int i = 0; i < 32; ++i) nowhere << piece << std::flush;
  std::uint64_t after = said();
  for (int beat = 0; beat < 50 && after < before + 2; ++beat) after = said();
  EXPECT_GE(after, before + 2);
  EXPECT_LE(after, before + 3);
}

TEST(RankChannel, AsksAndWaitsForTheAnswer) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  auto value = std::async([&] { return link->get("key"); });
  const Message asked = launcher.hear(MessageKind::get);
  EXPECT_EQ(asked.key, "key");
  EXPECT_EQ(value.wait_for(milliseconds(50)), std::future_status::timeout);
  launcher.say({MessageKind::reply, asked.request, BALEEN_OK, {}, "value"});
  const auto got = value.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, "value");
}

TEST(RankChannel, GivesEachThreadItsAnswer) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  std::vector<std::future<Result<std::string>>> values;
  for (int i = 0; i < 8; ++i)
    values.push_back(std::async(std::launch::async, [&, i] { return link->get(std::to_string(i)); }));
  std::vector<Message> asked;
  for (int i = 0; i < 8; ++i) asked.push_back(launcher.hear(MessageKind::get));
  for (auto at = asked.rbegin(); at != asked.rend(); ++at)
    launcher.say({MessageKind::reply, at->request, BALEEN_OK, {}, "of " + at->key});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(*values[i].get(), "of " + std::to_string(i));
}

TEST(RankChannel, PassesOnARefusal) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  auto put = std::async([&] { return link->put("key", "value"); });
  const Message asked = launcher.hear(MessageKind::put);
  EXPECT_EQ(asked.value, "value");
  launcher.say({MessageKind::reply, asked.request, BALEEN_INVALID, {}, "is already set"});
  const Status status = put.get();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, BALEEN_INVALID);
  EXPECT_EQ(status.error().message, "is already set");
}

TEST(RankChannel, WakesEverybodyWhenAPeerIsLost) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  auto get = std::async(std::launch::async, [&] { return link->get("key"); });
  auto barrier = std::async(std::launch::async, [&] { return link->barrier("b"); });
  launcher.hear(MessageKind::get);
  launcher.say(abort_message("rank 3: killed by SIGKILL"));
  const auto value = get.get();
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, BALEEN_PEER_LOST);
  EXPECT_EQ(value.error().message, "rank 3: killed by SIGKILL");
  EXPECT_FALSE(barrier.get());
  EXPECT_FALSE(link->put("late", "value"));
  EXPECT_EQ(link->state().error().message, "rank 3: killed by SIGKILL");
}

TEST(RankChannel, TellsOnceThatAPeerIsLost) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  std::promise<std::string> heard;
  int calls = 0;
  link->watch([&](const std::string& reason) {
    ++calls;
    heard.set_value(reason);
  });
  launcher.say(abort_message("the first cause"));
  launcher.say(abort_message("another"));
  EXPECT_EQ(heard.get_future().get(), "the first cause");
  EXPECT_EQ(calls, 1);
}

TEST(RankChannel, TellsAtOnceWhereAPeerIsLostAlready) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  launcher.say(abort_message("the first cause"));
  wait_for_abort(*link);
  std::string late;
  link->watch([&](const std::string& reason) { late = reason; });
  EXPECT_EQ(late, "the first cause");
}

TEST(RankChannel, SaysWhyItFailsAndThatItIsDone) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  link->at(4, "forward");
  link->fail(invalid("bad value", "train.lua:3:5"));
  const auto failure = failure_from(launcher.hear(MessageKind::fail).value);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->error.text(), "train.lua:3:5: bad value");
  EXPECT_EQ(failure->moment, (ProgressSnapshot{4, "forward", -1}));
  link->finish();
  launcher.hear(MessageKind::done);
}

TEST(RankChannel, NoticesThatTheLauncherIsGone) {
  FakeLauncher launcher;
  const auto link = launcher.link();
  auto get = std::async(std::launch::async, [&] { return link->get("key"); });
  launcher.hear(MessageKind::get);
  launcher.leave();
  const auto value = get.get();
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "the launcher is gone");
}

TEST(RankChannelDeathTest, DoesNotOutliveTheLauncher) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        FakeLauncher launcher;
        const auto link = launcher.link();
        launcher.leave();
        std::this_thread::sleep_for(std::chrono::minutes(10));
      },
      testing::KilledBySignal(SIGKILL), "");
}

TEST(RankChannel, LeavesSignalsToTheMainThread) {
  static std::atomic<std::thread::id> handler;
  const auto before = std::signal(SIGUSR1, [](int) { handler = std::this_thread::get_id(); });
  FakeLauncher launcher;
  const auto link = launcher.link();
  launcher.hear(MessageKind::beat);
  ::kill(getpid(), SIGUSR1);
  while (handler.load() == std::thread::id()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(handler.load(), std::this_thread::get_id());
  std::signal(SIGUSR1, before);
}

}  // namespace
}  // namespace baleen::launchers
