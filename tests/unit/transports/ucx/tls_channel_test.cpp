/// \file Channels between two sockets, with somebody in between.
#include "tls_channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <functional>
#include <random>

namespace baleen::ucx {
namespace {

using Peers = TlsChannel::Peers;

std::string some_key(char letter) { return std::string(TlsJob::kKeyBytes, letter); }

/// A connecting and an accepting end, and all bytes between them, which a test may change.
struct Pair {
  explicit Pair(const std::string& key = some_key('k'), const std::string& other_key = some_key('k'),
                Peers peers = {3, 1}, std::uint64_t renewal = std::uint64_t{1} << 40) {
    int near[2], far[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, near), 0);
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far), 0);
    auto job = TlsJob::make(key, renewal), other = TlsJob::make(other_key, renewal);
    connecting = *job->connecting(FileHandle(near[0]), peers);
    accepting = *other->accepted(FileHandle(far[0]));
    near_end = FileHandle(near[1]);
    far_end = FileHandle(far[1]);
  }

  /// Carries what lies between; `change` sees each piece that goes to the accepting end.
  bool carry(const std::function<void(std::string&)>& change = {}) {
    bool did = false;
    for (const bool forth : {true, false}) {
      std::string piece(1 << 16, '\0');
      const ssize_t got = recv((forth ? near_end : far_end).get(), piece.data(), piece.size(), 0);
      if (got <= 0) continue;
      did = true;
      piece.resize(static_cast<std::size_t>(got));
      if (forth && change) change(piece);
      carried += piece.size();
      for (std::size_t sent = 0; sent < piece.size();) {
        const ssize_t more =
            send((forth ? far_end : near_end).get(), piece.data() + sent, piece.size() - sent, MSG_NOSIGNAL);
        if (more < 0) break;
        sent += static_cast<std::size_t>(more);
      }
    }
    return did;
  }

  /// How both ends' handshakes came out.
  std::pair<Step, Step> shake() {
    Step a = Step::kLater, b = Step::kLater;
    for (int turn = 0; turn < 20; ++turn) {
      if (a == Step::kLater) a = connecting->shake();
      carry();
      if (b == Step::kLater) b = accepting->shake();
      carry();
    }
    return {a, b};
  }

  /// All that arrives of what is sent, up to the first failure.
  std::string exchange(const std::string& text, const std::function<void(std::string&)>& change = {}) {
    std::string heard;
    std::size_t sent = 0;
    for (int idle = 0; idle < 5;) {
      bool did = false;
      std::size_t count = 0;
      while (sent < text.size() && connecting->write(text.data() + sent, text.size() - sent, count) == Step::kDone) {
        sent += count;
        did = true;
      }
      connecting->flush();
      if (carry(change)) did = true;
      char piece[5000];
      Step step;
      while ((step = accepting->read(piece, sizeof piece, count)) == Step::kDone) {
        heard.append(piece, count);
        did = true;
      }
      if (step == Step::kEnded) return heard;
      idle = did ? 0 : idle + 1;
    }
    return heard;
  }

  std::unique_ptr<TlsChannel> connecting, accepting;
  FileHandle near_end, far_end;
  std::uint64_t carried = 0;
};

std::string random_text(std::size_t bytes) {
  std::mt19937 random(7);
  std::string text(bytes, '\0');
  for (char& letter : text) letter = static_cast<char>(random());
  return text;
}

const std::pair<Step, Step> kBothDone{Step::kDone, Step::kDone};

TEST(TlsChannel, CarriesWhatIsWrittenBetweenRanksThatKnowTheKey) {
  Pair pair;
  ASSERT_EQ(pair.shake(), kBothDone);
  ASSERT_TRUE(pair.accepting->heard());
  EXPECT_EQ(pair.accepting->heard()->from, 3);
  EXPECT_EQ(pair.accepting->heard()->to, 1);
  const std::string text = random_text(3'000'000);  // more than sockets and buffers hold
  EXPECT_EQ(pair.exchange(text), text);
  pair.connecting->end();
  EXPECT_EQ(pair.exchange(""), "");
  EXPECT_EQ(pair.accepting->why(), "the other end closed it");
}

TEST(TlsChannel, SaysNothingThatCanBeReadOnTheWay) {
  Pair pair;
  ASSERT_EQ(pair.shake(), kBothDone);
  std::string seen;
  EXPECT_EQ(pair.exchange(std::string(1000, 'a'), [&](std::string& piece) { seen += piece; }), std::string(1000, 'a'));
  EXPECT_GE(seen.size(), 1000u);
  EXPECT_EQ(seen.find("aaaa"), seen.npos);
}

TEST(TlsChannel, OpensToNobodyWithAnotherKey) {
  Pair pair(some_key('k'), some_key('j'));
  const auto [a, b] = pair.shake();
  EXPECT_EQ(a, Step::kEnded);
  EXPECT_EQ(b, Step::kEnded);
  EXPECT_FALSE(pair.accepting->heard());
  EXPECT_EQ(pair.accepting->why(), "the other end does not know the job's key");
}

TEST(TlsChannel, OpensToNobodyWhoIsNoRank) {
  Pair pair(some_key('k'), some_key('k'), {-1, 0});
  EXPECT_EQ(pair.shake().second, Step::kEnded);
}

TEST(TlsChannel, EndsAtAChangedByte) {
  Pair pair;
  ASSERT_EQ(pair.shake(), kBothDone);
  bool done = false;
  const std::string heard = pair.exchange(random_text(100'000), [&](std::string& piece) {
    if (std::exchange(done, true)) return;
    piece[piece.size() / 2] = static_cast<char>(piece[piece.size() / 2] ^ 4);
  });
  EXPECT_LT(heard.size(), 100'000u);
  EXPECT_NE(pair.accepting->why().find("what came is not what was sent"), std::string::npos) << pair.accepting->why();
}

TEST(TlsChannel, EndsAtARepeatedRecordAndAtAMissingOne) {
  for (const bool repeats : {true, false}) {
    Pair pair;
    ASSERT_EQ(pair.shake(), kBothDone);
    int pieces = 0;
    const std::string text = "once";
    EXPECT_EQ(pair.exchange(text,
                            [&](std::string& piece) {
                              if (pieces++ == 0) piece = repeats ? piece + piece : std::string();
                            }),
              repeats ? text : "");
    if (!repeats) {
      EXPECT_EQ(pair.exchange(text), "");
    }
    EXPECT_NE(pair.accepting->why().find("what came is not what was sent"), std::string::npos)
        << repeats << pair.accepting->why();
  }
}

TEST(TlsChannel, ChangesItsKeyAfterSoManyBytes) {
  Pair old_key, new_keys(some_key('k'), some_key('k'), {1, 0}, 50'000);
  const std::string text = random_text(1'000'000);
  for (Pair* pair : {&old_key, &new_keys}) {
    ASSERT_EQ(pair->shake(), kBothDone);
    pair->carried = 0;
    EXPECT_EQ(pair->exchange(text), text);
  }
  // A KeyUpdate is 5 bytes, in a record with 22 more.
  EXPECT_GE(new_keys.carried, old_key.carried + 27 * 10);
}

TEST(TlsJob, HasAnotherKeyEachTime) {
  const std::string a = *TlsJob::new_key(), b = *TlsJob::new_key();
  EXPECT_EQ(a.size(), TlsJob::kKeyBytes);
  EXPECT_NE(a, b);
  EXPECT_FALSE(TlsJob::make("short"));
}

}  // namespace
}  // namespace baleen::ucx
