/// \file Who opens a connection with whom, what those on the way can read, and what they can do to it: without sockets.
#include "ssh/tls.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "foreign_tls.hpp"
#include "support/seed.hpp"

namespace baleen::launchers {
namespace {

const std::string kJob = "0123456789abcdef";

TlsContext context_of(const Secret& secret, std::string_view job = kJob) {
  return *TlsContext::make(*JobKey::derive(secret, job));
}

/// The first host's end and another's.
struct Ends {
  explicit Ends(const TlsContext& a) : Ends(a, a) {}
  Ends(const TlsContext& a, const TlsContext& b) : first(*a.server()), other(*b.client(3)) {}

  /// Passes bytes on until nobody has any.
  void shake() {
    for (std::string bytes = other.take_bytes(); !bytes.empty(); bytes = other.take_bytes()) {
      to_first += bytes;
      status_of_first = first.receive(bytes);
      bytes = first.take_bytes();
      from_first += bytes;
      status_of_other = other.receive(bytes);
    }
  }

  TlsSession first, other;
  Status status_of_first, status_of_other;
  std::string to_first, from_first;  ///< all that was passed on
};

/// Ends that have shaken hands.
struct Open : Ends {
  Open() : Ends(context_of(Secret::fresh())) {
    shake();
    EXPECT_TRUE(first.is_open() && other.is_open());
  }
  /// A record with this text, from the first host.
  std::string said(const std::string& text) {
    first.write(text);
    return first.take_bytes();
  }
};

std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

TEST(Tls, OpensWhereBothKnowTheKey) {
  Ends ends(context_of(Secret::fresh()));
  EXPECT_FALSE(ends.first.is_open() || ends.other.is_open());
  ends.shake();
  EXPECT_TRUE(ends.status_of_first && ends.status_of_other);
  EXPECT_TRUE(ends.first.is_open() && ends.other.is_open());
  EXPECT_EQ(ends.first.host(), 3);
  EXPECT_EQ(ends.other.host(), std::nullopt);
}

// RFC 8446: a ServerHello is the record's header (5), its type and length (4), the version (2), 32 random bytes, no
// session's name (1), the suite (2), and extensions.
TEST(Tls, IsVersion13WithAFreshExchangeAndNothingToResume) {
  Ends ends(context_of(Secret::fresh()));
  ends.shake();
  const std::string& hello = ends.from_first;
  ASSERT_GT(hello.size(), 100u);
  EXPECT_EQ(hello.substr(44, 2), "\x13\x02");  // TLS_AES_256_GCM_SHA384
  EXPECT_NE(hello.find(std::string("\x00\x2b\x00\x02\x03\x04", 6)), std::string::npos) << "supported_versions: 1.3";
  EXPECT_NE(hello.find(std::string("\x00\x33\x00\x24\x00\x1d\x00\x20", 8)), std::string::npos) << "key_share: X25519";
  EXPECT_NE(hello.find(std::string("\x00\x29\x00\x02\x00\x00", 6)), std::string::npos) << "pre_shared_key: the first";
  EXPECT_EQ(ends.to_first.find(std::string("\x00\x2a\x00", 3)), std::string::npos) << "early_data";
  EXPECT_EQ(ends.first.take_bytes(), "") << "a ticket";
}

TEST(Tls, CarriesTextInAnyPieces) {
  Open ends;
  const std::string text = "some text";
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += ends.said(text);
  std::string got;
  for (const char byte : bytes) {
    ASSERT_TRUE(ends.other.receive({&byte, 1}));
    got += ends.other.take_text();
  }
  EXPECT_EQ(got, text + text + text + text + text);
  ends.other.write("an answer");
  ASSERT_TRUE(ends.first.receive(ends.other.take_bytes()));
  EXPECT_EQ(ends.first.take_text(), "an answer");
}

TEST(Tls, CarriesMegabytes) {
  Open ends;
  std::string text(std::size_t{5} << 20, '\0');
  std::mt19937_64 random(test::seed());
  for (char& byte : text) byte = static_cast<char>(random());
  ASSERT_TRUE(ends.other.receive(ends.said(text)));
  EXPECT_EQ(ends.other.take_text(), text);
}

TEST(Tls, KnowsThatARecordIsCutShort) {
  Open ends;
  const std::string bytes = ends.said("text");
  ASSERT_TRUE(ends.other.receive(std::string_view(bytes).substr(0, bytes.size() - 1)));
  EXPECT_EQ(ends.other.take_text(), "");
  EXPECT_TRUE(ends.other.has_part());
  ASSERT_TRUE(ends.other.receive(std::string_view(bytes).substr(bytes.size() - 1)));
  EXPECT_EQ(ends.other.take_text(), "text");
  EXPECT_FALSE(ends.other.has_part());
}

TEST(Tls, ShowsNothingToThoseWhoListen) {
  Open ends;
  const std::string text = "a plain word that nobody should read";
  const std::string once = ends.said(text), twice = ends.said(text);
  EXPECT_GT(once.size(), text.size());
  for (const std::string& bytes : {once, twice, ends.to_first, ends.from_first})
    for (std::size_t at = 0; at + 8 <= text.size(); ++at) EXPECT_EQ(bytes.find(text.substr(at, 8)), std::string::npos);
  EXPECT_NE(once, twice);
}

TEST(Tls, EndsInOneDirection) {
  Open ends;
  ends.first.write("the last word");
  ends.first.end();
  ASSERT_TRUE(ends.other.receive(ends.first.take_bytes()));
  EXPECT_EQ(ends.other.take_text(), "the last word");
  ends.other.write("an answer");
  ASSERT_TRUE(ends.first.receive(ends.other.take_bytes()));
  EXPECT_EQ(ends.first.take_text(), "an answer");
  ends.first.write("more");
  EXPECT_EQ(ends.first.take_bytes(), "");
}

TEST(Tls, WritesNothingBeforeItIsOpen) {
  Ends ends(context_of(Secret::fresh()));
  ends.first.write("early");
  EXPECT_EQ(ends.first.take_bytes(), "");
  ends.other.take_bytes();
  ends.other.write("early");
  EXPECT_EQ(ends.other.take_bytes(), "");
}

void expect_refused(Ends& ends) {
  ends.shake();
  EXPECT_FALSE(ends.first.is_open() || ends.other.is_open());
  ASSERT_FALSE(ends.status_of_first || ends.status_of_other);
  EXPECT_EQ(ends.first.host(), 3);
  EXPECT_EQ(ends.status_of_first.error().message, "does not know the job's secret");
  EXPECT_EQ(ends.status_of_other.error().message, "it knows another secret; give every host the same one");
  EXPECT_FALSE(ends.first.receive("more")) << "a failure is for good";
}

TEST(Tls, RefusesAnotherSecret) {
  Ends ends(context_of(Secret::fresh()), context_of(Secret::fresh()));
  expect_refused(ends);
}

TEST(Tls, RefusesAnotherJobOfTheSameSecret) {
  const Secret secret = Secret::fresh();
  Ends ends(context_of(secret, kJob), context_of(secret, "ffffffffffffffff"));
  expect_refused(ends);
}

TEST(Tls, RefusesWhatWasRecorded) {
  const TlsContext context = context_of(Secret::fresh());
  Ends then(context);
  then.shake();
  then.other.write("a word");
  TlsSession now = *context.server();
  EXPECT_FALSE(now.receive(then.to_first + then.other.take_bytes()));
  EXPECT_FALSE(now.is_open());
  EXPECT_EQ(now.take_text(), "");
  TlsSession victim = *context.client(3);
  EXPECT_FALSE(victim.receive(then.from_first));
  EXPECT_FALSE(victim.is_open());
}

TEST(Tls, RefusesItsOwnWordsThrownBack) {
  Ends ends(context_of(Secret::fresh()));
  const std::string hello = ends.other.take_bytes();
  EXPECT_FALSE(ends.other.receive(hello));
  ASSERT_TRUE(ends.first.receive(hello));
  EXPECT_FALSE(ends.first.receive(ends.first.take_bytes()));
  Open open;
  EXPECT_FALSE(open.first.receive(open.said("a word")));
}

TEST(Tls, RefusesAFirstHostThatHasACertificateInstead) {
  Ends ends(context_of(Secret::fresh()));
  ForeignTls impostor(ForeignTls::server_with_certificate());
  Status status;
  for (int i = 0; i < 4 && status; ++i) status = ends.other.receive(impostor.answer(ends.other.take_bytes()));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "what answers there does not know the job's secret, so it is not the first host");
  EXPECT_FALSE(ends.other.is_open());
}

TEST(Tls, RefusesThoseWhoHaveNoKey) {
  const TlsContext context = context_of(Secret::fresh());
  for (const int version : {ForeignTls::kVersion12, ForeignTls::kVersion13}) {
    TlsSession first = *context.server();
    ForeignTls client(ForeignTls::client_without_key(version));
    Status status;
    for (int i = 0; i < 4 && status; ++i) status = first.receive(client.answer(first.take_bytes()));
    EXPECT_FALSE(status);
    EXPECT_FALSE(first.is_open());
    EXPECT_EQ(first.host(), std::nullopt) << "it is taken for a host";
  }
}

/// Of plain records, nobody checks the lower half of the version (RFC 8446, 5.1).
bool is_unchecked(const std::string& flight, std::size_t at) { return flight[0] == '\x16' && at == 2; }

TEST(Tls, RefusesEveryChangedByteOfTheHandshake) {
  const TlsContext context = context_of(Secret::fresh());
  for (int flight = 0; flight < 3; ++flight) {
    std::size_t size = 1;
    for (std::size_t at = 0; at < size; ++at) {
      Ends ends(context);
      std::string bytes = ends.other.take_bytes();
      for (int sent = 0; sent < 3 && !bytes.empty(); ++sent) {
        if (sent == flight) size = bytes.size();
        if (sent == flight && is_unchecked(bytes, at)) ++at;
        if (sent == flight) bytes = flipped(bytes, at);
        TlsSession& to = sent % 2 ? ends.other : ends.first;
        static_cast<void>(to.receive(bytes));
        bytes = to.take_bytes();
      }
      EXPECT_FALSE(ends.first.is_open()) << "byte " << at << " of flight " << flight;
    }
    EXPECT_GT(size, 50u) << "flight " << flight << " was never there";
  }
}

void expect_meddling_is_found(TlsSession& by, const std::string& bytes) {
  const Status status = by.receive(bytes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "a message was changed on its way, or comes from somebody else");
}

TEST(Tls, FindsEveryChangedByte) {
  const std::size_t size = Open().said("text").size();
  for (std::size_t at = 0; at < size; ++at) {
    Open ends;
    const Status status = ends.other.receive(flipped(ends.said("text"), at));
    EXPECT_TRUE(!status || ends.other.has_part()) << at;  // a longer length waits for more
    EXPECT_EQ(ends.other.take_text(), "") << at;
  }
}

TEST(Tls, FindsRepeatedDroppedAndSwappedRecords) {
  for (const auto& meddle : std::vector<std::function<std::string(const std::string&, const std::string&)>>{
           [](const std::string&a, const std::string&) { return a + a; },
           [](const std::string&, const std::string&b) { return b; },
           [](const std::string&a, const std::string&b) { return b + a; },
           [](const std::string&a, const std::string&b) { return a.substr(0, a.size() - 1) + b; }}) {
    Open ends;
    const std::string a = ends.said("text"), b = ends.said("more");
    expect_meddling_is_found(ends.other, meddle(a, b));
  }
}

TEST(Tls, TellsTheOtherEndWhatItFound) {
  Open ends;
  expect_meddling_is_found(ends.other, flipped(ends.said("text"), 10));
  const Status told = ends.first.receive(ends.other.take_bytes());
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().message,
            "it ended the connection (bad record mac), so a message to it was changed on its way");
}

TEST(Tls, RefusesRecordsThatNobodySends) {
  Open ends;
  EXPECT_FALSE(ends.other.receive(std::string("\x17\x03\x03\xff\xff", 5)));
}

TEST(Tls, SurvivesNoise) {
  const TlsContext context = context_of(Secret::fresh());
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 300; ++i) {
    Ends ends(context);
    std::string hello = ends.other.take_bytes();
    for (int change = 0; change < 3; ++change) hello[random() % hello.size()] ^= static_cast<char>(1 + random() % 255);
    static_cast<void>(ends.first.receive(hello.substr(0, random() % hello.size())));
    static_cast<void>(ends.first.receive(hello));
    EXPECT_FALSE(ends.first.is_open());
    Open open;
    std::string bytes = open.said("one") + open.said("two") + open.said("three");
    bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    static_cast<void>(open.other.receive(bytes));
    EXPECT_TRUE(std::string("onetwo").starts_with(open.other.take_text()));
  }
}

}  // namespace
}  // namespace baleen::launchers
