/// \file Programs that know nothing of the job and speak to its port.
#include <filesystem>

#include "hosts_run.hpp"

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
  EXPECT_EQ(first->err(), "");
}

TEST_F(Strangers, MayScanThePortAsTheyLike) {
  const auto first = host(0, words);
  std::vector<int> open = {connect_to_port()};
  const std::size_t before = descriptors(first->leader());
  for (int i = 0; i < 600; ++i) {
    const int socket = connect_to_port();
    ASSERT_GE(socket, 0);
    if (i % 3 == 0) open.push_back(socket);                                 // stays, and says nothing
    if (i % 3 == 1) close(socket);                                          // is gone at once
    if (i % 3 == 2) send(socket, "baleen ", 7, 0), open.push_back(socket);  // begins well
    EXPECT_LE(descriptors(first->leader()), before + 66);
  }
  expect_job_still_works(*first);
  EXPECT_EQ(first->err(), "");
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

/// Stands between a host and the first one, and keeps what the host said.
class Eavesdropper {
 public:
  explicit Eavesdropper(int to) : to_(to), listener_(patient_socket()) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
  ~Eavesdropper() {
    for (const int each : {listener_, inside_, outside_}) close(each);
  }
  /// Passes on the hello and the join.
  void listen_in() {
    outside_ = accept(listener_, nullptr, nullptr);
    inside_ = patient_socket();
    const sockaddr_in address = loopback(to_);
    ASSERT_EQ(connect(inside_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    std::string hello(64, '\0');
    ASSERT_EQ(recv(inside_, hello.data(), hello.size(), MSG_WAITALL), 64);
    ASSERT_EQ(send(outside_, hello.data(), hello.size(), 0), 64);
    join.resize(88);
    ASSERT_EQ(recv(outside_, join.data(), join.size(), MSG_WAITALL), 88);
  }
  int port = 0;
  std::string join;

 private:
  int to_, listener_, inside_ = -1, outside_ = -1;
};

TEST_F(Strangers, WhoRepeatWhatAHostSaidAreRefused) {
  const auto first = host(0, words);
  close(connect_to_port());
  Eavesdropper between(port);
  const auto victim = host(1, {"port=" + std::to_string(between.port)});
  between.listen_in();
  const int socket = connect_to_port();
  EXPECT_EQ(hear(socket, 64).size(), 64u);
  EXPECT_EQ(send(socket, between.join.data(), between.join.size(), 0), 88);
  EXPECT_EQ(hear(socket, 33), std::string(33, '\0'));  // a refusal, then nothing more
  EXPECT_EQ(hear(socket, 1), "");
  close(socket);
  EXPECT_TRUE(says(*first, "wants to join but does not know the job's secret")) << first->err();
  victim->kill(SIGTERM);
  victim->ends();
  expect_job_still_works(*first);
}

}  // namespace
}  // namespace baleen::test
