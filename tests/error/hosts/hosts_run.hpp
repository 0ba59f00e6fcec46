/// \file Launchers of several hosts on this machine's loopback, each started by hand.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fault/launch/rank_job.hpp"
#include "support/free_port.hpp"
#include "support/temporary_folder.hpp"

namespace baleen::test {

/// A socket on which nothing blocks for ever.
inline int patient_socket() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit = {60, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return socket;
}

class Hosts : public testing::Test {
 protected:
  using seconds = std::chrono::seconds;
  static constexpr const char* kHosts = "a/1/127.0.0.1,b/2/127.0.0.2";

  std::string secret_file(const std::string& name, const std::string& text) const {
    const std::string path = folder.write(name, text + '\n');
    std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path;
  }
  /// The launcher of host `index`; it has the common secret unless `more` names another.
  std::unique_ptr<RunningJob> host(int index, std::vector<std::string> more = {}, const std::string& hosts = kHosts) {
    std::vector<std::string> words = {hosts, "index=" + std::to_string(index), "secret=" + secret,
                                      "port=" + std::to_string(port)};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<RunningJob>(rank_program(words));
  }
  static bool says(RunningJob& job, const std::string& text) {
    return holds_within(seconds(60), [&] {
      job.prints("never", 1, std::chrono::milliseconds(2));
      return job.err().find(text) != std::string::npos;
    });
  }
  static void expect_end(RunningJob& job, int code, const std::string& last_line) {
    EXPECT_EQ(job.ends(), code) << job.out() << job.err();
    const Lines lines = lines_of(job.err());
    ASSERT_FALSE(lines.empty());
    EXPECT_TRUE(lines.back().starts_with(last_line)) << job.err();
    EXPECT_TRUE(holds_within(seconds(60), [&] { return job.processes().empty(); }));
  }
  /// Connects to the port as soon as somebody listens there; -1: nobody does.
  int connect_to_port() const {
    int socket = -1;
    const sockaddr_in address = loopback(port);
    holds_within(seconds(60), [&] {
      if (socket >= 0) close(socket);
      socket = patient_socket();
      return connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    });
    return socket;
  }
  std::string at_port() const { return "127.0.0.1:" + std::to_string(port); }

  const TemporaryFolder folder;
  const std::string secret = secret_file("secret", std::string(64, '5'));
  const int port = free_port();
};

}  // namespace baleen::test
