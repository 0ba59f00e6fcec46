/// \file Whoever can reach the port of a rank whose messages are encrypted changes nothing.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "baleen/rendezvous.hpp"
#include "support/crowd.hpp"
#include "support/seed.hpp"
#include "tls_channel.hpp"
#include "ucx_run.hpp"

namespace baleen::conformance {
namespace {

using ucx::TlsChannel;
using ucx::TlsJob;

/// The port of a rank on this machine's loopback device; 0 where it has none.
std::uint16_t port_in(const std::string& address) {
  std::istringstream lines(address);
  for (std::string ip, port; lines >> ip >> port;)
    if (ip == "127.0.0.1") return static_cast<std::uint16_t>(std::stoi(port));
  return 0;
}

/// The first words of a rank that has this key, as somebody on the way could have recorded them.
std::string first_words(const std::string& key) {
  int ends[2];
  expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0, "no pair of sockets");
  const FileHandle other(ends[1]);
  auto channel = *TlsJob::make(key)->connecting(FileHandle(ends[0]), {1, 0});
  channel->shake();
  std::string words(4096, '\0');
  const ssize_t got = recv(other.get(), words.data(), words.size(), 0);
  expect(got > 100, "a rank that says nothing");
  words.resize(static_cast<std::size_t>(got));
  return words;
}

/// Replayed, cut, changed and invented; some hang on.
class Strangers {
 public:
  explicit Strangers(const std::string& key)
      : genuine_(first_words(key)), foreign_(first_words(std::string(TlsJob::kKeyBytes, 'x'))) {}

  void knock(std::uint16_t port, int times) {
    for (int i = 0; i < times; ++i) {
      FileHandle socket = test::connect_to_loopback(port);
      expect(static_cast<bool>(socket), "a rank that does not listen");
      const std::string words = words_of(i);
      [[maybe_unused]] const ssize_t sent = send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
      if (i % 40 == 0) waiting_.push_back(std::move(socket));
      if (waiting_.size() > 200) waiting_.erase(waiting_.begin());
    }
  }

 private:
  std::string words_of(int number) {
    std::string words = number % 2 == 0 ? genuine_ : foreign_;
    switch (number % 5) {
      case 0: return words;
      case 1: return words.substr(0, random_() % words.size());
      case 2: words[random_() % words.size()] ^= static_cast<char>(1 + random_() % 255); return words;
      case 3: return words + words;
      default:
        words.assign(random_() % 3000, '\0');
        for (char& letter : words) letter = static_cast<char>(random_());
        return words;
    }
  }

  const std::string genuine_, foreign_;
  std::vector<FileHandle> waiting_;
  std::mt19937_64 random_{test::seed()};
};

/// A rank's view of the rendezvous, in which something happens before it learns where rank 0 is.
class Delayed {
 public:
  Delayed(const baleen_rendezvous_t& inner, std::function<void(const Rendezvous&)> before)
      : inner_(inner), before_(std::move(before)) {}

  baleen_rendezvous_t view() {
    return {sizeof(baleen_rendezvous_t),
            this,
            inner_.rank,
            inner_.ranks,
            &put,
            &get,
            &over,
            inner_.host_of,
            inner_.address};
  }

 private:
  static Delayed& of(void* self) { return *static_cast<Delayed*>(self); }
  static baleen_status_t put(void* self, baleen_string_t key, baleen_string_t value) {
    return of(self).inner_.put(of(self).inner_.self, key, value);
  }
  static std::int64_t get(void* self, baleen_string_t key, char* value, std::uint64_t capacity) {
    Delayed& mine = of(self);
    if (view_of(key) == "ucx.0.address")
      if (const auto before = std::exchange(mine.before_, {})) before(Rendezvous(&mine.inner_));
    return mine.inner_.get(mine.inner_.self, key, value, capacity);
  }
  static std::int32_t over(void* self) { return of(self).inner_.over(of(self).inner_.self); }
  static std::string_view view_of(baleen_string_t text) { return {text.data, text.size}; }

  const baleen_rendezvous_t inner_;
  std::function<void(const Rendezvous&)> before_;
};

TEST(Encrypted, JobsEndAsIfAloneWhateverStrangersSend) {
  constexpr int kKnocks = 10'000;
  test::SharedRendezvous rendezvous;
  const test::RankOptions options = {{"encrypt", "true"}};
  const auto sums = [](Rank& rank) {
    void* const world = rank.world();
    for (const std::uint64_t count : {1, 1000, 1'000'000}) expect_sum(rank, world, count);
  };
  EXPECT_EQ(test::run_bodies(As::kProcesses, 2,
                             [&](std::int32_t number) {
                               if (number == 0) {
                                 Rank rank(ucx_plugin(), rendezvous, number, 2, options);
                                 return sums(rank);
                               }
                               std::uint16_t port = 0;
                               Delayed delayed(rendezvous.of(number, 2), [&](const Rendezvous& store) {
                                 Strangers strangers(store.get("ucx.tls.key"));
                                 port = port_in(store.get("ucx.0.address"));
                                 strangers.knock(port, kKnocks);
                               });
                               Rank rank(ucx_plugin(), delayed.view(), options);
                               sums(rank);
                               expect(port != 0 && !test::connect_to_loopback(port),
                                      "a rank listens after all have come");
                             }),
            "");
}

/// As many as may hold a connection do, while the last of three ranks is still to come.
TEST(Encrypted, JobsStartThoughStrangersHoldAllConnections) {
  test::SharedRendezvous rendezvous;
  const test::RankOptions options = {{"encrypt", "true"}};
  EXPECT_EQ(test::run_bodies(As::kProcesses, 3,
                             [&](std::int32_t number) {
                               if (number < 2) {
                                 Rank rank(ucx_plugin(), rendezvous, number, 3, options);
                                 return expect_sum(rank, rank.world(), 1000);
                               }
                               std::optional<test::Crowd> crowd;
                               Delayed delayed(rendezvous.of(number, 3), [&](const Rendezvous& store) {
                                 const std::string genuine = first_words(store.get("ucx.tls.key"));
                                 crowd.emplace(port_in(store.get("ucx.0.address")), genuine, 200);
                                 const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                                 while (crowd->came() < 300 && std::chrono::steady_clock::now() < until)
                                   std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                 expect(crowd->came() >= 300, "more than 64 are borne at once: nobody is hung up on");
                               });
                               Rank rank(ucx_plugin(), delayed.view(), options);
                               expect_sum(rank, rank.world(), 1000);
                               expect(crowd.has_value(), "nobody came");
                             }),
            "");
}

TEST(Encrypted, MessagesNeedNoDeviceOfUcx) {
  for (const char* devices : {"lo", "all"})
    EXPECT_EQ(run_ucx(3, {{"encrypt", "true"}, {"devices", devices}},
                      [](Rank& rank) { expect_sum(rank, rank.world(), 50'000); }),
              "")
        << devices;
}

TEST(Encrypted, MessagesSayWhichDevicesThereAre) {
  const std::string said = run_ucx(2, {{"encrypt", "true"}, {"devices", "eth_nowhere"}}, [](Rank&) {});
  EXPECT_NE(said.find("no address to listen on with devices = \"eth_nowhere\"; this machine has "), said.npos) << said;
  EXPECT_NE(said.find("lo"), said.npos) << said;
}

TEST(Encrypted, MessagesLeaveNothingToChooseForUcx) {
  const std::string said = run_ucx(2, {{"encrypt", "true"}, {"tls", "posix"}}, [](Rank&) {});
  EXPECT_NE(said.find("encrypt = true carries all messages over sockets, so tls = \"posix\" has nothing to choose"),
            said.npos)
      << said;
}

}  // namespace
}  // namespace baleen::conformance
