/// \file Channels between two sockets, with somebody in between.
#include "tls_channel.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>
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

TEST(TlsChannel, ChangesItsKeyAfterSoManyRecords) {
  Pair old_key, new_keys(some_key('k'), some_key('k'), {1, 0}, 3);
  const std::string text = random_text(1'000'000);
  for (Pair* pair : {&old_key, &new_keys}) {
    ASSERT_EQ(pair->shake(), kBothDone);
    pair->carried = 0;
    EXPECT_EQ(pair->exchange(text), text);
  }
  // A KeyUpdate is 5 bytes, in a record with 22 more.
  EXPECT_GE(new_keys.carried, old_key.carried + 27 * 10);
}

/// An end that is OpenSSL's alone, with the job's key.
class OpensslEnd {
 public:
  OpensslEnd(int socket, bool connects, const std::string& key)
      : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free), ssl_(SSL_new(context_.get()), SSL_free), key_(key) {
    SSL_set_min_proto_version(ssl_.get(), TLS1_3_VERSION);
    SSL_set_ciphersuites(ssl_.get(), "TLS_AES_128_GCM_SHA256");
    SSL_set_num_tickets(ssl_.get(), 0);
    SSL_set_app_data(ssl_.get(), this);
    SSL_set_psk_use_session_callback(ssl_.get(), [](SSL* ssl, const EVP_MD*, const unsigned char** identity,
                                                    std::size_t* size, SSL_SESSION** session) {
      constexpr std::string_view kName = "baleen rank 3 to 1";
      *identity = reinterpret_cast<const unsigned char*>(kName.data());
      *size = kName.size();
      return (*session = session_of(ssl)) != nullptr ? 1 : 0;
    });
    SSL_set_psk_find_session_callback(ssl_.get(),
                                      [](SSL* ssl, const unsigned char*, std::size_t, SSL_SESSION** session) {
                                        return (*session = session_of(ssl)) != nullptr ? 1 : 0;
                                      });
    SSL_set_fd(ssl_.get(), socket);
    connects ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
  }
  SSL* ssl() const { return ssl_.get(); }

 private:
  static SSL_SESSION* session_of(SSL* ssl) {
    const std::string& key = static_cast<OpensslEnd*>(SSL_get_app_data(ssl))->key_;
    SSL_SESSION* const made = SSL_SESSION_new();
    SSL_SESSION_set1_master_key(made, reinterpret_cast<const unsigned char*>(key.data()), key.size());
    constexpr unsigned char kSuite[] = {0x13, 0x01};
    SSL_SESSION_set_cipher(made, SSL_CIPHER_find(ssl, kSuite));
    SSL_SESSION_set_protocol_version(made, TLS1_3_VERSION);
    return made;
  }

  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  std::string key_;
};

TEST(TlsChannel, SpeaksWithOpenssl) {
  for (const bool connects : {true, false}) {
    SCOPED_TRACE(connects ? "OpenSSL connects" : "OpenSSL accepts");
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    const FileHandle other(ends[1]);
    const auto job = TlsJob::make(some_key('k'), 3);
    const auto ours =
        connects ? *job->accepted(FileHandle(ends[0])) : *job->connecting(FileHandle(ends[0]), Peers{3, 1});
    const OpensslEnd theirs(ends[1], connects, some_key('k'));
    Step step = Step::kLater;
    for (int turn = 0, done = 0; turn < 20 && (done != 1 || step != Step::kDone); ++turn) {
      if (done != 1) done = SSL_do_handshake(theirs.ssl());
      if (step == Step::kLater) step = ours->shake();
    }
    ASSERT_EQ(step, Step::kDone) << ours->why();

    const std::string text = random_text(300'000);
    std::string there, back;
    std::vector<char> piece(20'000);
    std::size_t sent = 0, returned = 0, count = 0;
    bool has_asked = false;
    for (int turn = 0; turn < 10'000 && back.size() < text.size(); ++turn) {
      if (sent < text.size() && ours->write(text.data() + sent, text.size() - sent, count) == Step::kDone)
        sent += count;
      ASSERT_NE(ours->flush(), Step::kEnded);
      while (SSL_read_ex(theirs.ssl(), piece.data(), piece.size(), &count)) there.append(piece.data(), count);
      // They change their key now and then, and ask for ours to change.
      if (there.size() > text.size() / 2 && !std::exchange(has_asked, true)) {
        ASSERT_EQ(SSL_key_update(theirs.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
      }
      const std::size_t more = std::min<std::size_t>(there.size() - returned, 10'000);
      if (more > 0 && SSL_write_ex(theirs.ssl(), there.data() + returned, more, &count)) returned += count;
      while (ours->read(piece.data(), piece.size(), count) == Step::kDone) back.append(piece.data(), count);
    }
    EXPECT_TRUE(has_asked);
    EXPECT_EQ(there, text);
    EXPECT_EQ(back, text);

    if (connects) {
      SSL_shutdown(theirs.ssl());
      EXPECT_EQ(ours->read(piece.data(), piece.size(), count), Step::kEnded);
      EXPECT_EQ(ours->why(), "the other end closed it");
    } else {
      ours->end();
      EXPECT_EQ(ours->flush(), Step::kDone);
      const int done = SSL_read_ex(theirs.ssl(), piece.data(), piece.size(), &count);
      EXPECT_EQ(SSL_get_error(theirs.ssl(), done), SSL_ERROR_ZERO_RETURN);
    }
  }
}

TEST(TlsChannel, TellsTheOtherEndOfADamagedRecord) {
  Pair pair;
  ASSERT_EQ(pair.shake(), kBothDone);
  pair.exchange("text", [](std::string& piece) { piece.back() = static_cast<char>(piece.back() ^ 1); });
  pair.carry();
  char letter = 0;
  std::size_t count = 0;
  EXPECT_EQ(pair.connecting->read(&letter, 1, count), Step::kEnded);
  EXPECT_EQ(pair.connecting->why(),
            "what came is not what was sent (TLS: says the other end with alert 20); something on the way changes it");
}

TEST(TlsChannel, EndsAtARecordThatIsNoneOfData) {
  for (const std::string& record : {std::string("\x14\x03\x03\x00\x01\x01", 6), std::string("\x17\x03\x03\xff\xff", 5),
                                    std::string("\x17\x03\x03\x00\x10", 5)}) {
    Pair pair;
    ASSERT_EQ(pair.shake(), kBothDone);
    EXPECT_EQ(pair.exchange("text", [&](std::string& piece) { piece = record + piece; }), "");
    EXPECT_NE(pair.accepting->why().find("(TLS: no record of data)"), std::string::npos) << pair.accepting->why();
  }
}

TEST(TlsJob, HasAnotherKeyEachTime) {
  const std::string a = *TlsJob::new_key(), b = *TlsJob::new_key();
  EXPECT_EQ(a.size(), TlsJob::kKeyBytes);
  EXPECT_NE(a, b);
  EXPECT_FALSE(TlsJob::make("short"));
}

}  // namespace
}  // namespace baleen::ucx
