/// \file Messages survive the way, however the bytes are cut; foreign bytes are refused.
#include "common/wire.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baleen::launchers {
namespace {

const std::vector<Message>& samples() {
  static const std::vector<Message> all = {
      {MessageKind::beat},
      {MessageKind::put, 4'000'000'000u, BALEEN_OK, "key", std::string("a\0b", 3)},
      {MessageKind::reply, 7, BALEEN_TIMEOUT, "", std::string(100'000, 'x')},
      {MessageKind::abort, 0, BALEEN_PEER_LOST, "", "rank 3"},
  };
  return all;
}

TEST(Wire, CarriesMessagesInAnyPieces) {
  std::string bytes;
  for (const Message& message : samples()) bytes += to_frame(message);
  for (const std::size_t piece : {1ul, 7ul, 16'384ul, bytes.size()}) {
    Frames frames;
    std::vector<Message> got;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      frames.add(std::string_view(bytes).substr(at, piece));
      for (;;) {
        auto next = frames.next();
        ASSERT_TRUE(next);
        if (!*next) break;
        got.push_back(**next);
      }
    }
    EXPECT_EQ(got, samples()) << "pieces of " << piece;
  }
}

TEST(Wire, RefusesForeignBytes) {
  Frames text;
  text.add("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_FALSE(text.next());
  std::string shortened = to_frame({MessageKind::put, 1, BALEEN_OK, "key", "value"});
  shortened[0] = static_cast<char>(shortened[0] - 1);
  Frames cut;
  cut.add(shortened);
  EXPECT_FALSE(cut.next());
}

TEST(Wire, CarriesPlacesMomentsAndFailures) {
  const Place place{3, 4, 1, 2, "node7", 12, 1, {0, 0, 1, 1}, "10.0.0.2"};
  EXPECT_EQ(*place_from(to_bytes(place)), place);
  const ProgressSnapshot moment{12, "backward", 77, 9, 4000000001u, "train", "all_reduce of `w`", 1234567890123};
  EXPECT_EQ(*moment_from(to_bytes(moment)), moment);
  Failure failure;
  failure.error = invalid("bad value", "train.lua:3:5");
  failure.moment = moment;
  failure.recorded = {"one line", "", "another"};
  const auto got = failure_from(to_bytes(failure));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->error.code, BALEEN_INVALID);
  EXPECT_EQ(got->error.text(), "train.lua:3:5: bad value");
  EXPECT_EQ(got->moment, moment);
  EXPECT_EQ(got->recorded, failure.recorded);
}

TEST(Wire, CarriesTheEndOfARank) {
  const RankEnd end{9, true, false, true, {12, "backward", 77}};
  EXPECT_EQ(*rank_end_from(to_bytes(end)), end);
  EXPECT_FALSE(rank_end_from(to_bytes(end).substr(1)));
}

TEST(Wire, RefusesLengthsThatNobodySends) {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 31}) {
    Frames frames;
    frames.add(std::string(reinterpret_cast<const char*>(&length), sizeof length));
    EXPECT_FALSE(frames.next()) << length;
  }
}

TEST(Wire, SurvivesNoise) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = to_frame(samples()[1]) + to_frame(samples()[0]);
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    Frames frames;
    frames.add(bytes);
    int messages = 0;
    for (auto next = frames.next(); next && *next; next = frames.next()) ++messages;
    EXPECT_LE(messages, 2);
    const auto place = place_from(bytes);
    EXPECT_TRUE(!place || place->host_of_rank.size() <= bytes.size());
    const auto failure = failure_from(bytes);
    EXPECT_TRUE(!failure || failure->recorded.size() <= bytes.size());
  }
}

TEST(Wire, RefusesHalfAFailure) {
  Failure failure;
  failure.error = invalid("bad value", "here");
  failure.recorded = {"a line"};
  const std::string bytes = to_bytes(failure);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(failure_from(bytes.substr(0, size))) << size;
  EXPECT_FALSE(failure_from(bytes + "x"));
}

}  // namespace
}  // namespace baleen::launchers
