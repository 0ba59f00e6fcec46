/// \file Messages survive the way, however the bytes are cut; foreign bytes are refused.
#include "core/launch/wire.hpp"

#include <gtest/gtest.h>

namespace baleen {
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
  const Place place{3, 4, 1, 2, "node7", 12, 1, {0, 0, 1, 1}};
  EXPECT_EQ(*place_from(to_bytes(place)), place);
  const Moment moment{12, "backward", 77, 2};
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

TEST(Wire, RefusesHalfAFailure) {
  Failure failure;
  failure.error = invalid("bad value", "here");
  failure.recorded = {"a line"};
  const std::string bytes = to_bytes(failure);
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(failure_from(bytes.substr(0, size))) << size;
  EXPECT_FALSE(failure_from(bytes + "x"));
}

}  // namespace
}  // namespace baleen
