/// \file Which collective a rank stands in, from events that the test raises.
#include "core/execute/collectives_under_way.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "baleen/event.hpp"

namespace baleen {
namespace {

class CollectivesUnderWayTest : public testing::Test {
 protected:
  baleen_event_t after{}, done{}, other{};
  const std::string first = "first", second = "second";
  CollectivesUnderWay under_way;
};

TEST_F(CollectivesUnderWayTest, StandInOneFromItsTurnToItsEnd) {
  EXPECT_EQ(under_way.running(), "");
  under_way.begin({&first, &after, 3, &done, 2});
  event_signal(after, 2);
  EXPECT_EQ(under_way.running(), "") << "what comes before it is not done";
  event_signal(after, 3);
  EXPECT_EQ(under_way.running(), "first");
  event_signal(done, 1);
  EXPECT_EQ(under_way.running(), "first");
  event_signal(done, 2);
  EXPECT_EQ(under_way.running(), "");
}

TEST_F(CollectivesUnderWayTest, StandInTheOldest) {
  under_way.begin({&first, nullptr, 0, &done, 1});
  under_way.begin({&second, nullptr, 0, &other, 1});
  EXPECT_EQ(under_way.running(), "first");
  event_signal(done, 1);
  EXPECT_EQ(under_way.running(), "second");
}

TEST_F(CollectivesUnderWayTest, EndWhereOneFails) {
  under_way.begin({&first, nullptr, 0, &done, 1});
  event_signal(done, BALEEN_EVENT_FAILED);
  EXPECT_EQ(under_way.running(), "");
}

TEST_F(CollectivesUnderWayTest, LookAtNoEventsOnceForgotten) {
  {
    baleen_event_t gone{};
    under_way.begin({&first, nullptr, 0, &gone, 1});
    under_way.forget();
  }
  EXPECT_EQ(under_way.running(), "");
}

TEST_F(CollectivesUnderWayTest, KeepAllThatHaveNotEnded) {
  std::deque<baleen_event_t> many(1000);
  for (baleen_event_t& event : many) under_way.begin({&first, nullptr, 0, &event, 1});
  for (std::uint64_t i = 1; i <= 100'000; ++i) {
    under_way.begin({&second, nullptr, 0, &done, i});
    event_signal(done, i);
  }
  for (baleen_event_t& event : many) {
    EXPECT_EQ(under_way.running(), "first");
    event_signal(event, 1);
  }
  EXPECT_EQ(under_way.running(), "");
}

}  // namespace
}  // namespace baleen
