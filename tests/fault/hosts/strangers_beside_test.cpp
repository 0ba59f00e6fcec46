/// \file Somebody in a third network who reaches the first host of a job, and has seen all that ever went over its
/// cable.
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <random>

#include "baleen/file_handle.hpp"
#include "support/listening.hpp"
#include "support/seed.hpp"
#include "training.hpp"

namespace baleen::test {
namespace {

using namespace std::chrono_literals;

/// A network with a cable of its own to the first host, which knows the way to that host's other address.
class ThirdNetwork {
 public:
  explicit ThirdNetwork(const TwoNetworks& others) : name_("baleen" + std::to_string(getpid()) + "c") {
    const std::vector<std::string> all[] = {
        {"netns", "add", name_},
        {"link", "add", "side", "netns", others.name(0), "type", "veth", "peer", "name", "side", "netns", name_},
        {"-n", others.name(0), "addr", "add", "10.78.0.1/24", "dev", "side"},
        {"-n", others.name(0), "link", "set", "side", "up"},
        {"-n", name_, "addr", "add", "10.78.0.2/24", "dev", "side"},
        {"-n", name_, "link", "set", "side", "up"},
        {"-n", name_, "route", "add", "10.77.0.0/24", "via", "10.78.0.1"}};
    for (std::vector<std::string> words : all) {
      words.insert(words.begin(), "ip");
      if (const ProcessResult result = run_process(words); result.exit_code != 0) missing_ += result.err;
    }
  }
  ~ThirdNetwork() { run_process({"ip", "netns", "del", name_}); }  // NOLINT(*exception-escape): ends the test
  ThirdNetwork(const ThirdNetwork&) = delete;

  const std::string& missing() const { return missing_; }
  /// From now on this thread is in it.
  bool enter() const {
    const FileHandle file(open(("/run/netns/" + name_).c_str(), O_RDONLY | O_CLOEXEC));
    return file && setns(file.get(), CLONE_NEWNET) == 0;
  }

 private:
  std::string name_, missing_;
};

/// What TCP carries over the first host's cable, packet by packet, while it lives.
class Recorder {
 public:
  explicit Recorder(const TwoNetworks& networks) : thread_([this, &networks] { record(networks); }) {}
  ~Recorder() { stop(); }

  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::vector<std::string> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  static constexpr std::size_t kMost = 4000;

  void record(const TwoNetworks& networks) {
    if (!networks.enter(0)) return;
    const FileHandle socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETHERTYPE_IP)));
    sockaddr_ll cable{};
    cable.sll_family = AF_PACKET;
    cable.sll_protocol = htons(ETHERTYPE_IP);
    cable.sll_ifindex = static_cast<int>(if_nametoindex(TwoNetworks::kDevice));
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&cable), sizeof cable) != 0) return;
    std::string packet(std::size_t{1} << 16, '\0');
    for (pollfd ready{socket.get(), POLLIN, 0}; !over_;) {
      if (poll(&ready, 1, 20) != 1) continue;
      const ssize_t bytes = recv(socket.get(), packet.data(), packet.size(), 0);
      if (bytes > 0) keep(std::string_view(packet).substr(0, static_cast<std::size_t>(bytes)));
    }
  }
  void keep(std::string_view packet) {
    iphdr outer{};
    tcphdr inner{};
    if (packet.size() < sizeof outer + sizeof inner) return;
    std::memcpy(&outer, packet.data(), sizeof outer);
    const std::size_t begin = outer.ihl * 4u;
    if (outer.protocol != IPPROTO_TCP || packet.size() < begin + sizeof inner) return;
    std::memcpy(&inner, packet.data() + begin, sizeof inner);
    const std::size_t head = begin + inner.doff * 4u;
    const std::size_t end = std::min<std::size_t>(packet.size(), ntohs(outer.tot_len));
    if (end <= head) return;
    const std::lock_guard lock(mutex_);
    if (seen_.size() < kMost) seen_.emplace_back(packet.substr(head, end - head));
  }

  std::mutex mutex_;
  std::vector<std::string> seen_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Connects to every port of the first host that its processes listen on, again and again, and says there what was
/// recorded: as it was, cut, changed, or twice. Some connections are kept.
class Stranger {
 public:
  /// Borrows all of them.
  Stranger(const ThirdNetwork& third, const TwoNetworks& networks, std::vector<std::string> known, Recorder& recorder)
      : known_(std::move(known)), thread_([this, &third, &networks, &recorder] {
          if (third.enter()) knock(networks, recorder);
        }) {}
  ~Stranger() { stop(); }
  void stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

  int knocks() const { return knocks_; }
  /// The most ports that were open at a time.
  int ports() const { return ports_; }

 private:
  void knock(const TwoNetworks& networks, Recorder& recorder) {
    std::vector<Listening> ports;
    auto looked = std::chrono::steady_clock::now() - 1s;
    for (int number = 0; !over_; ++number) {
      if (const auto now = std::chrono::steady_clock::now(); ports.empty() || now - looked > 100ms) {
        ports = listening_of(networks.processes(0));
        ports_ = std::max(ports_.load(), static_cast<int>(ports.size()));
        looked = now;
        if (number % 500 == 0) own_ = recorder.seen();
      }
      if (ports.empty()) {
        std::this_thread::sleep_for(1ms);
        continue;
      }
      say(ports[static_cast<std::size_t>(number) % ports.size()], words(number));
    }
  }
  std::string words(int number) {
    const std::vector<std::string>& from = number % 2 == 0 || own_.empty() ? known_ : own_;
    std::string words = from.empty() ? "hello" : from[random_() % from.size()];
    switch (number % 5) {
      case 0: return words;
      case 1: return words.substr(0, random_() % (words.size() + 1));
      case 2: words[random_() % words.size()] ^= static_cast<char>(1 + random_() % 255); return words;
      case 3: return words + words;
      default: return from.empty() ? words : words + from[random_() % from.size()];
    }
  }
  void say(const Listening& where, const std::string& words) {
    FileHandle socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(where.port);
    inet_pton(AF_INET, where.address.c_str(), &to.sin_addr);
    if (connect(socket.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 && errno != EINPROGRESS) return;
    pollfd ready{socket.get(), POLLOUT, 0};
    int failed = 0;
    socklen_t size = sizeof failed;
    if (poll(&ready, 1, 100) != 1 || getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0)
      return;
    if (send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0) return;
    if (++knocks_ % 40 == 0) kept_.push_back(std::move(socket));
    if (kept_.size() > 100) kept_.erase(kept_.begin());
  }

  const std::vector<std::string> known_;
  std::vector<std::string> own_;  ///< of this job
  std::vector<FileHandle> kept_;
  std::mt19937_64 random_{test::seed()};
  std::atomic<int> knocks_{0}, ports_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class StrangersBeside : public TrainingOnTwoHosts {
 protected:
  void SetUp() override {
    TrainingOnTwoHosts::SetUp();
    if (!IsSkipped() && !third.missing().empty()) GTEST_SKIP() << third.missing();
  }
  std::set<std::string> addresses_of(int host) const {
    std::set<std::string> found;
    for (const Listening& one : listening_of(networks.processes(host))) found.insert(one.address);
    return found;
  }

  const ThirdNetwork third{networks};
};

TEST_F(StrangersBeside, SeePortsOnlyWhereHostsMeet) {
  train_for_ever();
  for (const int host : {0, 1})
    EXPECT_EQ(addresses_of(host), std::set<std::string>{TwoNetworks::address(host)}) << "host " << host;
  job->kill(SIGINT);
  EXPECT_EQ(job->ends(), 128 + SIGINT) << job->err();
}

/// Ranks of the second host cannot begin connections until the stranger has knocked often enough: so long the ports for
/// data are open. As long as they wait is not enough for all of it on a busy machine, so jobs follow each other.
class ManyStrangersBeside : public StrangersBeside {
 protected:
  /// Trains while a stranger says what was recorded; returns how often he could. Nothing where there is no iptables.
  std::optional<int> knocks_at(Recorder& recorder, const std::vector<std::string>& known, int wanted) {
    train(kSteps, ", encrypt = true");
    std::vector<Listening> launcher;
    EXPECT_TRUE(holds_within(20s, [&] {
      launcher = listening_of(networks.processes(0));
      return !launcher.empty();
    })) << job->err();
    if (launcher.empty()) return 0;
    const auto doors = [&](const char* change) {
      return run_process(networks.on(0, {"iptables", "-w", change, "INPUT", "-i", TwoNetworks::kDevice, "-p", "tcp",
                                         "--syn", "!", "--dport", std::to_string(launcher[0].port), "-j", "DROP"}));
    };
    if (doors("-A").exit_code != 0) return std::nullopt;
    Stranger stranger(third, networks, known, recorder);
    EXPECT_TRUE(holds_within(20s, [&] { return stranger.ports() >= 3; }))
        << "the launcher's port and those of two ranks";
    const int before = stranger.knocks();
    holds_within(2s, [&] { return stranger.knocks() >= before + wanted; });
    EXPECT_EQ(doors("-D").exit_code, 0);
    EXPECT_EQ(job->ends(), 0) << job->err();
    stranger.stop();
    return stranger.knocks() - before;
  }
  void change_nothing(int wanted) {
    std::vector<std::string> known;
    Losses alone;
    {
      Recorder recorder(networks);
      train(kSteps);
      ASSERT_EQ(job->ends(), 0) << job->err();
      recorder.stop();
      known = recorder.seen();
      alone = losses();
    }
    ASSERT_GT(known.size(), 100u) << "nothing of UCX's wire was recorded";
    Recorder recorder(networks);
    int knocks = 0, jobs = 0;
    for (; knocks < wanted && jobs < 12 && !HasFailure(); ++jobs) {
      const std::optional<int> more = knocks_at(recorder, known, wanted - knocks);
      if (!more) GTEST_SKIP() << "needs iptables";
      knocks += *more;
      EXPECT_EQ(losses(), alone);
    }
    EXPECT_GE(knocks, wanted) << "too slow to show anything";
    std::printf("%d knocks in %d jobs before all ranks were there\n", knocks, jobs);
  }

  static constexpr int kSteps = 40;
};

TEST_F(ManyStrangersBeside, ChangeNothingInAnEncryptedJob) { change_nothing(1'000); }
TEST_F(ManyStrangersBeside, ChangeNothingWithTenThousandPackets) { change_nothing(10'000); }

}  // namespace
}  // namespace baleen::test
