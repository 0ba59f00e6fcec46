/// \file Messages that somebody on the way meddles with.
#include "ssh/seal.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baleen::launchers {
namespace {

const Digest kKey = {1, 2, 3};
Message beat(int rank) { return {MessageKind::beat, 0, BALEEN_OK, "key", "value", rank}; }

TEST(Seal, CarriesMessagesInAnyPieces) {
  Seal seal(kKey);
  SealedFrames frames(kKey);
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += seal.sealed(beat(i));
  int next = 0;
  for (const char byte : bytes) {
    frames.add(std::string(1, byte));
    const auto got = frames.next();
    ASSERT_TRUE(got);
    if (*got) {
      EXPECT_EQ(**got, beat(next++));
    }
  }
  EXPECT_EQ(next, 5);
}

TEST(Seal, FindsEveryChangedByte) {
  const std::string bytes = Seal(kKey).sealed(beat(1));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    SealedFrames frames(kKey);
    frames.add(changed);
    const auto got = frames.next();
    EXPECT_TRUE(!got || !*got) << i;  // a longer length waits for more
  }
}

TEST(Seal, FindsRepeatedDroppedAndSwappedMessages) {
  Seal seal(kKey);
  const std::string a = seal.sealed(beat(1)), b = seal.sealed(beat(2));
  for (const std::string& bytes : {a + a, b, b + a}) {
    SealedFrames frames(kKey);
    frames.add(bytes);
    auto got = frames.next();
    if (got && *got) got = frames.next();
    EXPECT_FALSE(got);
  }
}

TEST(Seal, RefusesAnotherKeyAndTheOtherDirection) {
  SealedFrames frames(Digest{});
  frames.add(Seal(kKey).sealed(beat(1)));
  EXPECT_FALSE(frames.next());
}

TEST(Seal, RefusesLengthsThatNobodySends) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    SealedFrames frames(kKey);
    frames.add(std::string(reinterpret_cast<const char*>(&length), sizeof length));
    EXPECT_FALSE(frames.next()) << length;
  }
}

TEST(Seal, SurvivesNoise) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 2000; ++i) {
    Seal seal(kKey);
    std::string bytes;
    for (int message = 0; message < 3; ++message) bytes += seal.sealed(beat(message));
    const std::size_t at = random() % bytes.size();
    const auto mask = static_cast<char>(1 + random() % 255);
    bytes[at] = static_cast<char>(bytes[at] ^ mask);
    SealedFrames frames(kKey);
    frames.add(bytes);
    int whole = 0;
    for (auto got = frames.next(); got && *got; got = frames.next()) EXPECT_EQ(**got, beat(whole++));
    EXPECT_LT(whole, 3) << "byte " << at << " by " << static_cast<int>(mask);
  }
}

}  // namespace
}  // namespace baleen::launchers
