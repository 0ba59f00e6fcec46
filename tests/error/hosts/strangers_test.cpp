/// \file Programs that know nothing of the job and speak to its port.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>

#include "hosts_run.hpp"
#include "relay.hpp"
#include "support/crowd.hpp"

namespace baleen::test {
namespace {

class Strangers : public Hosts {
 protected:
  static std::string hear(int socket, std::size_t count) {
    std::string text(count, '\0');
    const ssize_t got = recv(socket, text.data(), count, MSG_WAITALL);
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }
  /// 0: it is gone.
  static std::size_t descriptors(pid_t process) {
    std::error_code gone;
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(process) + "/fd", gone);
    return gone ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  void expect_job_still_works(RunningJob& first) {
    const auto second = host(1, {"*:barrier:all", "*:print:through"});
    EXPECT_EQ(first.ends(), 0) << first.err();
    EXPECT_TRUE(first.prints("through", 3, seconds(0))) << first.out();
  }
  /// But that the other host has not joined yet, which is so for longer on a slow machine.
  static void expect_silent(const RunningJob& first) {
    std::istringstream lines(first.err());
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(line.starts_with("warning: still waiting for ranks 1, 2 (host b) to join (")) << first.err();
  }
  const std::vector<std::string> words = {"*:barrier:all", "*:print:through"};
};

TEST_F(Strangers, ThatTalkNonsenseAreHungUpOn) {
  const auto first = host(0, words);
  for (const std::string& text : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(1 << 20, '\xff'),
                                  std::string("\x00\x00\x00\x00\x00\x00\x00\x80", 8), std::string(1, '\0')}) {
    const int socket = connect_to_port();
    ASSERT_GE(socket, 0);
    EXPECT_EQ(hear(socket, 64).size(), 64u);  // the job's hello
    send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_EQ(hear(socket, 1), "") << "it goes on listening to nonsense";
    close(socket);
  }
  expect_job_still_works(*first);
  expect_silent(*first);
}

TEST_F(Strangers, MayScanThePortAsTheyLike) {
  const auto first = host(0, words);
  std::vector<int> open = {connect_to_port()};
  const std::size_t before = descriptors(first->leader());
  for (int i = 0; i < 600; ++i) {
    const int socket = connect_to_port();
    ASSERT_GE(socket, 0);
    if (i % 3 == 0) open.push_back(socket);                                      // stays, and says nothing
    if (i % 3 == 1) close(socket);                                               // is gone at once
    if (i % 3 == 2) send(socket, "\x16\x03\x01", 3, 0), open.push_back(socket);  // begins well
    EXPECT_LE(descriptors(first->leader()), before + 66);
  }
  expect_job_still_works(*first);
  expect_silent(*first);
  for (const int socket : open) close(socket);
}

TEST_F(Strangers, MayScanARunningJobToo) {
  const std::vector<std::string> long_work = {"*:pid", "*:work:1500"};
  const auto first = host(0, long_work), second = host(1, long_work);
  ASSERT_TRUE(first->prints("pid ", 3)) << first->err();
  // Where nobody takes them off the port, strangers wait for seconds; the job does not wait for them.
  std::vector<int> open;
  const sockaddr_in address = loopback(port);
  for (bool answers = true; answers && open.size() < 300;) {
    EXPECT_LE(descriptors(first->leader()), 100u);
    open.push_back(patient_socket());
    answers = connect(open.back(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  EXPECT_GT(open.size(), 50u);
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(second->ends(), 0) << second->err();
  for (const int socket : open) close(socket);
}

/// As many as may hold a connection do, whatever they say there, from before the other host comes to the end.
TEST_F(Strangers, MayHoldAllConnectionsAtOnce) {
  const std::string begin("\x16\x03\x01\x01\x0f", 5);  // of a handshake that is longer than what follows
  const auto first = host(0, {"*:barrier:all", "*:work:500", "*:print:through"});
  close(connect_to_port());
  const std::size_t before = descriptors(first->leader());
  Crowd crowd(port, begin + std::string(200, '\x01'), 100);
  ASSERT_TRUE(holds_within(seconds(60), [&] { return crowd.here() >= 64; }));
  const auto second = host(1, {"*:barrier:all", "*:work:500", "*:print:through"});
  std::size_t most = 0;
  std::optional<int> code;
  for (int looks = 0; !code && looks < 3000; ++looks) {
    most = std::max(most, descriptors(first->leader()));
    code = first->ends(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(code, 0) << first->err();
  EXPECT_EQ(second->ends(), 0) << second->err();
  EXPECT_TRUE(first->prints("through", 3, seconds(0))) << first->out();
  expect_silent(*first);
  EXPECT_GT(crowd.came(), 100);
  EXPECT_GE(most, before + 32) << "nobody held a connection";
  EXPECT_LE(most, before + 64 + 20) << "more than 64, and what ranks and the other host take";
}

TEST_F(Strangers, WhoListenReadNothing) {
  Relay between(port);
  const std::vector<std::string> all = {"*:barrier:all", "*:print:a plain word"};
  const auto first = host(0, all), second = host(1, {"port=" + std::to_string(between.port), all[0], all[1]});
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_EQ(second->ends(), 0) << second->err();
  EXPECT_NE(first->out().find("[rank 2] a plain word"), std::string::npos) << first->out();
  const std::string heard = between.heard();
  EXPECT_NE(heard.find("baleen hosts 2"), std::string::npos) << "it listened to something else";
  EXPECT_GT(heard.size(), 1'000u);
  for (const char* words : {"plain word", "[rank", "rank 2", "55555555", "baleen launchers"})
    EXPECT_EQ(heard.find(words), std::string::npos) << "whoever listens reads `" << words << "`";
}

TEST_F(Strangers, WhoRepeatWhatAHostSaidAreRefused) {
  const std::string three = "a/1/127.0.0.1,b/1/127.0.0.2,c/1/127.0.0.3";
  const auto first = host(0, words, three);
  Relay between(port);
  const auto second = host(1, {"port=" + std::to_string(between.port), words[0], words[1]}, three);
  ASSERT_TRUE(holds_within(seconds(60), [&] { return between.said().size() > 400; }));  // it has joined, and beats
  const int socket = connect_to_port();
  EXPECT_EQ(hear(socket, 64).size(), 64u);
  const std::string recorded = between.said();
  send(socket, recorded.data(), recorded.size(), MSG_NOSIGNAL);
  EXPECT_LT(hear(socket, 4096).size(), 1'000u) << "it goes on listening";
  close(socket);
  EXPECT_TRUE(says(*first, "wants to join but does not know the job's secret")) << first->err();
  const auto third = host(2, words, three);
  EXPECT_EQ(first->ends(), 0) << first->err();
  EXPECT_TRUE(first->prints("through", 3, seconds(0))) << first->out();
}

TEST_F(Strangers, WhoChangeDropOrRepeatWhatIsSaidEndTheJob) {
  const std::vector<std::string> work = {"*:barrier:all", "*:pid", "*:work"};
  for (const auto meddling : {Relay::Meddling::change, Relay::Meddling::drop, Relay::Meddling::repeat}) {
    Relay between(port);
    const auto first = host(0, work);
    const auto second = host(1, {"port=" + std::to_string(between.port), work[0], work[1], work[2]});
    ASSERT_TRUE(first->prints("pid ", 3)) << first->err() << second->err();
    between.meddle(meddling);
    expect_end(*first, 70, "error: host b: a message was changed on its way, or comes from somebody else");
    EXPECT_NE(second->ends(), 0);
  }
}

TEST_F(Strangers, WhoCutTheConnectionEndTheJob) {
  const std::vector<std::string> work = {"*:barrier:all", "*:pid", "*:work"};
  Relay between(port);
  const auto first = host(0, work);
  const auto second = host(1, {"port=" + std::to_string(between.port), work[0], work[1], work[2]});
  ASSERT_TRUE(first->prints("pid ", 3)) << first->err() << second->err();
  between.meddle(Relay::Meddling::cut);
  expect_end(*first, 4, "error: host b: its launcher has ended in the middle of a message (127.0.0.1:");
  EXPECT_NE(second->ends(), 0);
}

TEST_F(Strangers, OfAnOlderVersionAreToldSo) {
  const int listener = patient_socket();
  const sockaddr_in address = loopback(port);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const auto second = host(1);
  const int socket = accept(listener, nullptr, nullptr);
  ASSERT_GE(socket, 0);
  const std::string hello = "baleen hosts 1\r\n0123456789abcdef" + std::string(32, '\x7f');
  EXPECT_EQ(send(socket, hello.data(), hello.size(), 0), 64);
  EXPECT_EQ(hear(socket, 1), "") << "it says something though they do not understand each other";
  expect_end(*second, 2,
             "error: the first host, a (" + at_port() +
                 "): it speaks version 1 of the protocol between hosts, and this host version 2; install the same "
                 "Baleen on every host");
  close(socket);
  close(listener);
}

}  // namespace
}  // namespace baleen::test
