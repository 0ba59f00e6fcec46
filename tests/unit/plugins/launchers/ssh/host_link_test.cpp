/// \file What a launcher says of a connection that breaks while it sends: the reason, which the system tells once.
#include "ssh/host_link.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

namespace baleen::launchers {
namespace {

/// What the system answers to sends on one socket; the last answer for ever.
struct FailingSends {
  static inline int socket = -1;
  static inline std::vector<int> errors;
};

}  // namespace
}  // namespace baleen::launchers

/// In place of the C library's, in this program: other sockets send.
extern "C" ssize_t send(int socket, const void* bytes, size_t count, int flags) {
  using baleen::launchers::FailingSends;
  if (socket != FailingSends::socket || FailingSends::errors.empty())
    return sendto(socket, bytes, count, flags, nullptr, 0);
  errno = FailingSends::errors.front();
  if (FailingSends::errors.size() > 1) FailingSends::errors.erase(FailingSends::errors.begin());
  return -1;
}

namespace baleen::launchers {
namespace {

/// The first host's end of a connection through this machine, and the socket of the other end.
class HostLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    const FileHandle listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    other_ = FileHandle(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(connect(other_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    FileHandle own(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    ASSERT_TRUE(own);
    FailingSends::socket = own.get();
    const auto context = TlsContext::make(*JobKey::derive(Secret::fresh(), "0123456789abcdef"));
    ASSERT_TRUE(context) << context.error().text();
    TlsSession first = *context->server(), second = *context->client(1);
    for (std::string bytes = second.take_bytes(); !bytes.empty(); bytes = second.take_bytes()) {
      ASSERT_TRUE(first.receive(bytes));
      ASSERT_TRUE(second.receive(first.take_bytes()));
    }
    link_.emplace(std::move(own), std::move(first), timeouts_);
  }
  void TearDown() override {
    FailingSends::socket = -1;
    FailingSends::errors.clear();
  }
  /// Why it is over, where these are the answers to what is sent in one turn and the other end is closed.
  std::string reason(std::vector<int> errors) {
    const std::size_t messages = errors.size();
    FailingSends::errors = std::move(errors);
    for (std::size_t i = 0; i < messages; ++i) link_->send({MessageKind::put, 0, BALEEN_OK, "key", "value"});
    EXPECT_EQ(FailingSends::errors.size(), 1u);
    other_.close();
    const Clock::time_point until = Clock::now() + std::chrono::seconds(30);
    while (!link_->is_over(Clock::now()) && Clock::now() < until) EXPECT_TRUE(link_->serve(Clock::now()));
    return link_->is_over(Clock::now()).value_or("it stands");
  }

  const Timeouts timeouts_;
  FileHandle other_;
  std::optional<HostLink> link_;
};

TEST_F(HostLinkTest, KeepsTheFirstErrorWhereFurtherMessagesAreSent) {
  EXPECT_EQ(reason({ETIMEDOUT, EPIPE}).substr(0, 45), "the connection broke: Connection timed out; w");
}

TEST_F(HostLinkTest, TakesABrokenPipeForTheEndOfTheOtherLauncher) {
  EXPECT_EQ(reason({EPIPE, EPIPE}), "its launcher has ended");
}

}  // namespace
}  // namespace baleen::launchers
